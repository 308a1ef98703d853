import Base
import Cryptography
import Foundation
import HTTP
import Logging
import MariaDB
import Store
import Support
import Synchronization
import Testing

@testable import API

/// A responder without a web server, with a database of its own under the responder's least rights, and a clock that
/// advances by a millisecond with each request, as MariaDB counts a row as affected only if its values change.
final class TestApplication: Sendable {
  let application: Application
  let database: Database
  /// Settings with all rights.
  let root: ConnectionSettings
  let clock: Clock

  static let publicURL = "https://api.example.org"
  static let keys = try! Keyring(
    parsing: "k1:" + base64URLEncoded([UInt8](repeating: 7, count: 32)))

  /// RFC 7515 A.3.
  static let paymentKeys = try! ES256Keyring(
    parsing: "k1:jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI")

  /// The companion's keys. The responder knows only the public keys.
  static let boxKeys = try! BoxKeys(
    parsing: "c1:" + base64URLEncoded([UInt8](repeating: 8, count: 32)))

  final class Clock: Sendable {
    private let state = Mutex((now: Timestamp(seconds: 1_795_000_000), hasAdvanced: true))

    /// The time of the last reading, or that to which the clock was advanced since.
    var now: Timestamp { state.withLock { $0.now } }

    /// Returns the time, a millisecond after the last reading; or exactly that to which the clock was advanced.
    func read() -> Timestamp {
      state.withLock {
        if !$0.hasAdvanced { $0.now = $0.now + .milliseconds(1) }
        $0.hasAdvanced = false
        return $0.now
      }
    }

    func advance(by span: Duration) {
      state.withLock { $0 = ($0.now + span, true) }
    }
  }

  init(
    _ root: ConnectionSettings, settings: API.Settings = .ofTests(),
    random: @escaping @Sendable (Int) -> [UInt8] = randomBytes
  ) {
    self.root = root
    database = Database(
      accountSettings(of: "responder", in: root).patient, mailKeys: settings.mailKeys)
    clock = Clock()
    application = .ofTests(
      database, settings: settings, log: Evidence.log(of: root.database),
      clock: clock.read, random: random)
  }

  /// The time of the last request.
  var now: Timestamp { clock.now }

  /// The next request comes `span` after the last one.
  func advance(by span: Duration) { clock.advance(by: span) }

  /// The next request comes at `instant`.
  func advance(to instant: Timestamp) { clock.advance(by: instant - now) }

  /// A second responder with the same database and clock.
  func sibling(
    settings: API.Settings = .ofTests(),
    random: @escaping @Sendable (Int) -> [UInt8] = randomBytes,
    beginWaiting: @escaping @Sendable () -> Bool = { true }, waitLimit: Duration = .seconds(86_400)
  ) -> Application {
    .ofTests(
      database, settings: settings, log: Evidence.log(of: root.database), clock: clock.read,
      random: random, beginWaiting: beginWaiting, waitLimit: waitLimit)
  }

  /// The result of SQL for the database's root: one line per row, tabs between columns.
  @discardableResult
  func sql(
    _ statement: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line
  ) -> String {
    MariaDBServer.shared.run(
      statement, database: root.database, fileID: fileID, filePath: filePath, line: line
    )
    .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// The time that `query` selects.
  func instant(_ query: String) throws -> Timestamp {
    let value = sql("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', (\(query))) DIV 1000")
    return Timestamp(milliseconds: try #require(Int64(value)))
  }

  /// The number of rows of `rest`, a table with an optional condition.
  func count(
    _ rest: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line
  ) -> Int {
    Int(sql("SELECT COUNT(*) FROM \(rest)", fileID: fileID, filePath: filePath, line: line)) ?? -1
  }

  /// All rows of the tables, for a comparison.
  func rows(_ tables: String...) -> String {
    tables.map { "\($0): " + sql("SELECT * FROM \($0) ORDER BY 1, 2") }.joined(separator: "\n")
  }

  func send(
    _ method: String, _ path: String, _ json: String = "", token: String? = nil, query: String = "",
    fields: [(name: String, value: String)] = [], address: String = "192.0.2.1",
    requestID: String = "request-1"
  ) -> Answer {
    application.send(
      method, path, json, token: token, query: query, fields: fields, address: address,
      requestID: requestID)
  }
}

extension API.Settings {
  /// The settings of the tests.
  static func ofTests(
    environment: Environment = .development, publicURL: String = TestApplication.publicURL,
    publicURLs: [String]? = nil, androidApps: [AndroidApp] = [],
    jwtKeys: Keyring = TestApplication.keys, hmacKeys: Keyring = TestApplication.keys,
    credentialKeys: Keyring = TestApplication.keys,
    paymentKeys: ES256Keyring = TestApplication.paymentKeys,
    companionKeys: BoxPublicKeys = TestApplication.boxKeys.publicKeys,
    masterKey: String? = "test-master-key-123",
    allowedOrigins: [String] = [], passkeyOrigins: [String] = [], pushLookupConcurrency: Int = 8,
    webPush: WebPushSettings? = nil, agent: GuardedAgent? = nil,
    // Requests of the tests come from this network.
    pairingAccess: PairingAccess = PairingAccess(allowed: [IPNetwork("192.0.2.0/24")!]),
    attestation: AttestationPolicy = AttestationPolicy(), wakeSocket: String? = nil,
    relaySocket: String? = nil
  ) -> API.Settings {
    API.Settings(
      environment: environment, publicURLs: publicURLs ?? [publicURL], jwtKeys: jwtKeys,
      hmacKeys: hmacKeys,
      credentialKeys: credentialKeys, paymentKeys: paymentKeys, companionKeys: companionKeys,
      wakeSocket: wakeSocket,
      masterKeyHash: masterKey.map { sha256($0) },
      allowedOrigins: allowedOrigins, passkeyOrigins: passkeyOrigins, androidApps: androidApps,
      pushLookupConcurrency: pushLookupConcurrency, webPush: webPush, agent: agent,
      pairingAccess: pairingAccess, relaySocket: relaySocket, attestation: attestation)
  }
}

extension Application {
  /// A responder with the settings of the tests. Every test builds its responders with this.
  static func ofTests(
    _ database: Database, settings: API.Settings = .ofTests(), log: Logger,
    clock: @escaping @Sendable () -> Timestamp = Timestamp.now,
    random: @escaping @Sendable (Int) -> [UInt8] = randomBytes,
    beginWaiting: @escaping @Sendable () -> Bool = { true }, waitLimit: Duration = .seconds(86_400)
  ) -> Application {
    Application(
      database: database, settings: settings, log: log, clock: clock, random: random,
      beginWaiting: beginWaiting, waitLimit: waitLimit)
  }

  /// A responder that does not wait for an unavailable database.
  static func ofTests(
    on settings: ConnectionSettings, log: Logger? = nil
  ) -> Application {
    .ofTests(
      Database(settings, mailKeys: API.Settings.ofTests().mailKeys, beginWaiting: { false }),
      log: log ?? Evidence.log(of: settings.database))
  }

  func send(
    _ method: String, _ path: String, _ json: String = "", token: String? = nil, query: String = "",
    fields: [(name: String, value: String)] = [], address: String = "192.0.2.1",
    requestID: String = "request-1"
  ) -> Answer {
    let bearer = token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
    return answer(
      to: Request(
        method: method, path: path, query: query, fields: bearer + fields, body: Array(json.utf8),
        remoteAddress: address, requestID: requestID))
  }

  func answer(to request: Request) -> Answer { Answer(checkedResponse(to: request)) }

  /// The response, which must be as the description of the API says.
  func checkedResponse(to request: Request) -> Response {
    let response = respond(to: request)
    DescribedAnswers.check(response, to: request)
    return response
  }
}

/// Calls `body` with a new responder.
func withApplication<T>(
  agent: GuardedAgent? = nil, attestation: AttestationPolicy = AttestationPolicy(),
  random: @escaping @Sendable (Int) -> [UInt8] = randomBytes,
  _ body: (TestApplication) throws -> T
) throws -> T {
  try withDatabase {
    try body(
      TestApplication(
        $0, settings: .ofTests(agent: agent, attestation: attestation), random: random))
  }
}
