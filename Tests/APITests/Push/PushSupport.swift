import Base
import Cryptography
import HTTP
import MariaDB
import Store
import Support

@testable import API

/// The origin of the tests' page.
let pushOrigin = (name: "Origin", value: "http://localhost:3000")

extension TestApplication {
  /// `POST /api/push/<action>` by a signed-in person.
  @discardableResult
  func push(
    _ action: String, _ json: String, by who: SignedIn, to application: Application? = nil
  ) -> Answer {
    (application ?? self.application).push(
      action, json,
      fields: [
        pushOrigin, ("Authorization", "Bearer \(who.accessToken)"), ("X-Username", who.email),
      ])
  }

  /// One line per push token: first letter, platform, e-mail, device.
  var pushRows: String {
    sql(
      """
      SELECT LEFT(t.token, 1), t.platform, a.email, d.client_device_id FROM push_tokens t
      JOIN devices d ON d.id = t.device_id JOIN accounts a ON a.id = d.account_id ORDER BY t.token
      """)
  }

  /// Records a companion's pass that ended `age` ago, with the variables `missing`.
  func seeCompanion(missing: String = "", age: String = "1 SECOND") {
    sql(
      """
      REPLACE INTO companion_status (host, version, last_pass_at, missing)
      VALUES ('h', '1', UTC_TIMESTAMP(3) - INTERVAL \(age), '\(missing)')
      """)
  }

  /// Stores a token that no endpoint accepts.
  func insertMalformedToken(_ token: String, device: String = "device-1") {
    sql(
      """
      SET check_constraint_checks = OFF;
      INSERT INTO push_tokens (token, device_id, platform, registered_at)
      SELECT '\(token)', id, 'ios', UTC_TIMESTAMP(3) FROM devices WHERE client_device_id = '\(device)'
      """)
  }
}

extension Application {
  /// A responder for answers that need no database.
  static func withoutDatabase(
    _ environment: API.Settings.Environment = .development, allowedOrigins: [String] = [],
    clock: @escaping @Sendable () -> Timestamp = Timestamp.now
  ) -> Application {
    ofTests(
      Database(
        ConnectionSettings(socket: "/nonexistent", database: "x", user: "x"),
        beginWaiting: { false }),
      settings: .ofTests(environment: environment, allowedOrigins: allowedOrigins),
      log: Evidence.log(of: "no-database"), clock: clock)
  }

  func push(
    _ action: String, _ json: String = "{}", method: String = "POST",
    fields: [(name: String, value: String)], defect: Request.Defect? = nil
  ) -> Answer {
    answer(
      to: Request(
        method: method, path: "/api/push/\(action)", fields: fields, body: Array(json.utf8),
        remoteAddress: "192.0.2.1", requestID: "request-1", defect: defect))
  }
}

extension Answer {
  /// All values of the CORS fields and `Vary`, by name.
  var crossOriginFields: [String: String] {
    let fields = response.fields.filter {
      $0.name.hasPrefix("Access-Control-") || $0.name == "Vary"
    }
    return Dictionary(fields.map { ($0.name, $0.value) }) { "\($0) AND \($1)" }
  }

  /// Whether the answer is an error of the push family, with the fields of an allowed origin.
  func isPushError(_ status: Int, _ message: String) -> Bool {
    self.status == status && text == #"{"error":"\#(message)"}"#
      && field("Content-Type") == "application/json" && field("Cache-Control") == "no-store"
      && crossOriginFields == Self.allowed
  }

  /// The fields of every answer to ``pushOrigin`` except preflights.
  static let allowed = [
    "Access-Control-Allow-Origin": "http://localhost:3000",
    "Access-Control-Allow-Methods": "POST, OPTIONS",
    "Access-Control-Allow-Headers": "Content-Type, Authorization, X-Username",
    "Access-Control-Allow-Credentials": "true", "Access-Control-Max-Age": "86400",
    "Vary": "Origin",
  ]
}

/// Calls `body` with a site that has a companion, and with Ann on her devices 1 and 2.
func withAnn<T>(_ body: (TestApplication, SignedIn, SignedIn) throws -> T) throws -> T {
  try withApplication { site in
    site.seeCompanion()
    let ann = try site.signUp()
    return try body(site, ann, try site.signIn(device: "device-2"))
  }
}

extension TestApplication {
  /// Registers a push token for each letter, one per second.
  func register(_ letters: String, platform: String = "ios", of who: SignedIn) {
    for letter in letters {
      advance(by: .seconds(1))
      push(
        "register", #"{"token":"\#(pushTokenText(letter))","platform":"\#(platform)"}"#, by: who)
    }
  }
}

extension Answer {
  /// The result of each send, as `letter ok status reason id`.
  var sends: [String] {
    let results = self["results"] as? [[String: Any]] ?? []
    return results.map { result in
      let token = (result["token"] as? String ?? "").prefix(1)
      let reason = result["reason"].map { " \($0)" } ?? ""
      let id = result["apnsId"] == nil ? "" : " id"
      return "\(token) \(result["ok"] as? Bool == true) \(result["status"] ?? "-")\(reason)\(id)"
    }
  }
}
