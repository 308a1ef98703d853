import Foundation
import Store
import Support
import Testing

/// A site for faults, with a person, a player and a mail command. Used by one thread.
final class FaultSite {
  /// A client of the site.
  struct Client: Sendable {
    let site: Site
    let person: Person
    let player: Player
    /// The port for TLS.
    let securePort: UInt16
    /// The file of that port's certificate.
    let certificate: String
  }

  /// A request, and the name of its answer in the table.
  struct Request: Sendable {
    let name: String
    let send: @Sendable (Client) throws -> String
  }

  let client: Client
  /// Holds the mail command, its mails and the metrics.
  let folder: String
  /// The number of the latest game. Each move is in a new game, so that its notification is
  /// recognizable.
  private var game = 100
  private var acknowledged = 0

  var site: Site { client.site }

  /// The origin of the app that registers for pushes.
  static let origin = "Origin: tauri://localhost"

  private static let pushToken = String(repeating: "0a", count: 32)
  private static let turnToken = String(repeating: "0b", count: 32)

  /// - Throws: an error if a sign-up fails.
  init(_ site: Site, folder: String, securePort: UInt16) throws {
    self.folder = folder
    let (person, player) = (try site.signUp(), try site.issueKey(for: 7))
    client = Client(
      site: site, person: person, player: player, securePort: securePort,
      certificate: "\(folder)/certificate.pem")
    let registered = site.curl(
      "/api/push/register", "--header", person.bearer, "--header", "X-Username: \(person.email)",
      "--header", Self.origin,
      "--data", #"{"token":"\#(Self.pushToken)"}"#)
    try #require(registered.status == 200, "\(registered.body)")
    let watched = site.post(
      "/register", #"{"user_id":"7","device_token":"\#(Self.turnToken)"}"#, player.header)
    try #require(watched.status == 200, "\(watched.body)")
    try site.write("theirs", as: 1, of: player)
  }

  // MARK: Requests

  /// Sends all requests at once, and returns the answers in the table's words.
  func answers(to requests: [Request] = Request.usual) throws -> String {
    let client = client
    let answers = try inParallel(requests.count) { number in try requests[number].send(client) }
    if requests[0].name == Request.usual[0].name, answers[0] == "200" { acknowledged += 1 }
    if Set(answers).count == 1 { return "all \(answers[0])" }
    return zip(requests, answers).map { "\($0.name) \($1)" }.joined(separator: ", ")
  }

  /// Adds a new game in which it is the player's turn.
  func move() throws {
    game += 1
    try site.write("mine", as: game, of: client.player)
  }

  /// Ends waiting times between retries, and resets limits. Does nothing without a database.
  func hurry() {
    for statement in [
      "DELETE FROM rate_limits", "UPDATE health SET full_at = '1970-01-01'",
      "UPDATE ogs_users SET due_at = UTC_TIMESTAMP(3) WHERE claim_id IS NULL",
      "UPDATE deliveries SET due_at = UTC_TIMESTAMP(3) WHERE state = 'open'",
      "UPDATE outbox SET due_at = UTC_TIMESTAMP(3) WHERE state = 'open' AND claim_id IS NULL",
    ] { _ = try? site.sql(statement) }
  }

  /// Shortens the wait for a missing companion by 50 s. A running companion overwrites the value in
  /// its next pass.
  func agePasses() {
    _ = try? site.sql(
      "UPDATE companion_status SET last_pass_at = last_pass_at - INTERVAL 50 SECOND")
  }

  // MARK: Reports of a problem

  /// The sentence of `status` about `fault`; nil if there is none.
  func sentence(about fault: Fault) -> String? {
    let lines = site.companion("status", "--json").output.split(separator: "\n").map(String.init)
    guard let report = lines.first(where: { $0.hasPrefix("{") }) else {
      return lines.first { $0.contains(fault.words) }.map {
        $0.replacing("Error: ", with: "").trimmed
      }
    }
    return problems(in: report).compactMap { $0["reason"] }.first { $0.contains(fault.words) }
  }

  /// The answer of `/health` about `fault`, in the table's words; nil if it does not name the
  /// fault.
  func health(about fault: Fault) -> String? {
    let answer = site.curl("/health")
    let names = problems(in: answer.body).compactMap { $0["name"] }
    if fault.problem == .site, answer.status >= 500 {
      return (["\(answer.status)"] + names.map { "`\($0)`" }).joined(separator: ", ")
    }
    return names.contains(fault.problem.rawValue) ? "\(answer.status), `\(fault.problem)`" : nil
  }

  private func problems(in json: String) -> [[String: String]] {
    let object = try? JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
    let problems = object?["problems"] as? [[String: Any]] ?? []
    return problems.map { $0.compactMapValues { $0 as? String } }
  }

  /// The alert that the metrics in the file raise because of `fault`; nil if there is none.
  func alert(about fault: Fault) throws -> String? {
    let rules = try String(
      contentsOf: projectFolder.appending(path: "Sources/companion/monitoring/alerts.yml"),
      encoding: .utf8
    ).components(separatedBy: "      - alert: ").dropFirst()
    let metrics = try String(contentsOfFile: metricsFile, encoding: .utf8)
    let problem = "switchboard_problem{name=\"\(fault.problem)\"}"
    let rule = rules.first { $0.contains(problem) }
    let isRaised =
      metrics.contains("\n\(problem) 1\n")
      || fault.problem == .companion && isStale(metrics)
        && rule?.contains("time() - max(switchboard_last_pass_timestamp_seconds) > 20 + 2 * ")
          == true
    return isRaised ? rule?.split(separator: "\n").first.map { "`\($0)`" } : nil
  }

  /// Whether no pass has ended for ten intervals, or no pass is known.
  private func isStale(_ metrics: String) -> Bool {
    let time = metrics.firstMatch(of: /\nswitchboard_last_pass_timestamp_seconds (\d+)\n/)
    return time.flatMap { Double($0.1) }.map { Date.now.timeIntervalSince1970 - $0 > 10 } ?? true
  }

  var metricsFile: String { "\(folder)/switchboard.prom" }

  // MARK: The healthy site

  /// Whether `status` and `/health` report no problem, and all requests succeed.
  func isWell() throws -> Bool {
    hurry()
    guard site.companion("status").status == 0,
      site.curl("/health").body.contains(#""status":"ok""#)
    else { return false }
    return try answers() == "all 200"
  }

  /// The mails and notifications that have not been sent, wait or have failed for good; in words.
  func unsent() throws -> [String] {
    let waiting = try site.sql(
      """
      SELECT CONCAT('mail ', state, ' ', id, ' ', attempts, ' ', due_at) FROM outbox
      WHERE state IN ('open', 'dead')
      UNION ALL
      SELECT CONCAT('notification ', state, ' ', id, ' ', attempts, ' ', due_at) FROM deliveries
      WHERE state IN ('open', 'dead')
      """)
    let pushes = try site.pushes().filter { $0.status == 200 && $0.token == Self.turnToken }
    // A push without an answer may be sent twice, but is shown once.
    let shown = Set(pushes.filter { $0.payload.contains("\"game_id\":\(game)") }.map(\.collapseID))
    let mails = try mails()
    return waiting.split(separator: "\n").map(String.init)
      + (shown.count == 1 ? [] : ["game \(game) shown \(shown.count) times"])
      + (mails >= acknowledged ? [] : ["\(mails) mails for \(acknowledged) codes"])
  }

  /// The number of mailed codes.
  private func mails() throws -> Int {
    let files = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/mails")
      .filter { $0.hasSuffix(".eml") }
    let texts = try files.map {
      try String(contentsOfFile: "\(folder)/mails/\($0)", encoding: .utf8)
    }
    let ids = texts.compactMap { $0.firstMatch(of: /Message-ID: (\S+)/)?.1 }
    #expect(Set(ids).count == texts.count, "a mail was sent twice")
    return texts.count { $0.contains(/code is \d{6}/) }
  }
}

extension FaultSite.Request {
  /// The usual requests of clients.
  static let usual = [
    Self(name: "sign-in") { client in
      "\(client.site.post("/api/mobile/auth/login", client.person.body).status)"
    },
    Self(name: "read") { client in
      "\(client.site.curl("/api/v1/device-prefs", "--header", client.person.bearer).status)"
    },
    Self(name: "write") { client in
      let json = #"{"push_enabled":true}"#
      return "\(client.site.post("/api/v1/device-prefs", json, client.person.bearer).status)"
    },
    Self(name: "test push") { client in
      let answer = client.site.curl(
        "/api/push/test", "--header", client.person.bearer, "--header",
        "X-Username: \(client.person.email)", "--header", FaultSite.origin, "--data", "{}")
      return "\(answer.status)"
    },
  ]
}
