import Base
import Cryptography
import Foundation
import ProcessSupport
import SharedSettings
import Store
import Support
import Testing

@testable import Delivery

/// `switchboard-fakes apns` in its own process, and a client's settings for it.
final class FakeAPNs: @unchecked Sendable {
  static let topic = "com.example.switchboard"
  let topic: String
  let teamID: String
  let folder: String
  let port: UInt16
  private let process = Process()
  /// The fake ends when this handle closes, however this process ends.
  private let lifeline: FileHandle

  struct Received: Decodable {
    let token: String
    let id: String
    let collapseID: String
    let topic: String
    let expiration: String
    let priority: String
    let payload: String
    let providerTokenHash: String
    let connection: Int
    let status: Int
    let reason: String?
  }

  fileprivate init(
    _ faults: [String], host: String, clock: Timestamp?, topic: String, teamID: String
  ) throws {
    self.topic = topic
    self.teamID = teamID
    folder = FileManager.default.temporaryDirectory.appending(path: "apns-\(UUID().uuidString)")
      .path()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try testPublicKey.write(toFile: "\(folder)/provider.pem", atomically: true, encoding: .utf8)
    let ends = makeLifeline()
    lifeline = ends.lifeline
    let output = Pipe()
    process.executableURL = Bundle.main.executableURL!.deletingLastPathComponent()
      .appending(path: "switchboard-fakes")
    process.arguments =
      [
        "apns", "--folder", folder, "--host", host, "--topic", topic, "--team-id", teamID,
        "--public-key", "\(folder)/provider.pem", "--until-input-ends",
      ] + faults.flatMap { ["--fault", $0] }
    if let clock {
      try "\(clock.seconds)".write(toFile: "\(folder)/clock", atomically: true, encoding: .utf8)
      process.arguments! += ["--clock", "\(folder)/clock"]
    }
    process.standardInput = ends.input
    process.standardOutput = output
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    port = try #require(UInt16(line.dropFirst(5).dropLast()), "the fake said: \(line)")
  }

  /// Ends the fake. Its records are complete afterwards.
  fileprivate func end() {
    try? lifeline.close()
    process.waitUntilExit()
  }

  /// Sets the fake's clock to `now`.
  func setClock(_ now: Timestamp) throws {
    try "\(now.seconds)".write(toFile: "\(folder)/clock", atomically: true, encoding: .utf8)
  }

  var endpoint: APNsEndpoint { APNsEndpoint(host: "localhost", port: port) }

  func trust() throws -> TLSContext { try TLSContext(trusting: .text(certificate())) }

  /// The fake's certificate, in PEM.
  func certificate() throws -> String {
    try String(contentsOfFile: "\(folder)/certificate.pem", encoding: .utf8)
  }

  /// Settings with this fake as the first host, and `other` as the other host.
  func settings(
    other: FakeAPNs? = nil, otherEndpoint: APNsEndpoint? = nil, endpoint: APNsEndpoint? = nil
  ) throws -> APNsSettings {
    APNsSettings(
      keyID: "KEY1234567", teamID: teamID, topic: topic,
      key: try P256PrivateKey(pem: testPrivateKey), environment: .production,
      endpoint: endpoint ?? self.endpoint,
      otherEndpoint: other?.endpoint ?? otherEndpoint,
      trust: try TLSContext(trusting: .text(certificate() + (other?.certificate() ?? ""))),
      testConcurrency: 4, retries: APNsRetries(delay: .seconds(900)))
  }

  /// Environment variables with the same settings, for a program.
  func environment(other: FakeAPNs? = nil) throws -> [String: String] {
    [
      "APNS_KEY_ID": "KEY1234567", "APNS_TEAM_ID": "TEAM123456", "APNS_BUNDLE_ID": Self.topic,
      "APNS_PRIVATE_KEY": testPrivateKey, "APNS_ENDPOINT_OVERRIDE": "\(endpoint)",
      "SWITCHBOARD_SUBSTITUTES": other.map { "apns-other=\($0.endpoint)" } ?? "",
      "APNS_CA_CERT": try certificate() + (other?.certificate() ?? ""), "APNS_RETRY_SECONDS": "1",
    ]
  }

  /// The received requests, in order.
  func received() throws -> [Received] {
    var offset: UInt64 = 0
    return try received(after: &offset)
  }

  /// The requests after the first `offset` bytes of the record; moves `offset` to its end.
  func received(after offset: inout UInt64) throws -> [Received] {
    let file = try FileHandle(forReadingFrom: URL(filePath: "\(folder)/received.jsonl"))
    defer { try? file.close() }  // only read
    try file.seek(toOffset: offset)
    let lines = try file.readToEnd() ?? Data()
    // The last line may be incomplete.
    let whole = lines.prefix(upTo: lines.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0)
    offset += UInt64(whole.count)
    return try whole.split(separator: UInt8(ascii: "\n"))
      .map { try JSONDecoder().decode(Received.self, from: $0) }
  }

  /// The visible notifications, by device token and collapse id.
  func visible() throws -> [String: [String: String]] {
    try JSONDecoder().decode(
      [String: [String: String]].self,
      from: Data(contentsOf: URL(filePath: "\(folder)/visible.json")))
  }
}

/// Calls `body` with a new fake, and `look` after the fake has ended and its records are complete.
func withAPNs<T>(
  _ faults: String..., host: String = "localhost", _ body: (FakeAPNs) throws -> T,
  thenLook look: (FakeAPNs, T) throws -> Void = { _, _ in }
) throws {
  try withAPNs(faults: faults, host: host, body, thenLook: look)
}

func withAPNs<T>(
  faults: [String], host: String = "localhost", clock: Timestamp? = nil,
  topic: String = FakeAPNs.topic, teamID: String = "TEAM123456",
  _ body: (FakeAPNs) throws -> T,
  thenLook look: (FakeAPNs, T) throws -> Void = { _, _ in }
) throws {
  let fake = try FakeAPNs(faults, host: host, clock: clock, topic: topic, teamID: teamID)
  defer { try? FileManager.default.removeItem(atPath: fake.folder) }
  let result: T
  do {
    defer { fake.end() }
    result = try body(fake)
  }
  try look(fake, result)
}

/// A run with all of its notifications and reports.
struct CountedRun {
  var run = APNsRun()
  var outcomes: [String: [APNsOutcome]] = [:]

  /// Each of `count` notifications has exactly one outcome.
  func isComplete(_ count: Int) -> Bool {
    outcomes.count == count && outcomes.values.allSatisfy { $0.count == 1 }
      && run.reported == count
  }

  func count(where isCounted: (APNsOutcome) -> Bool) -> Int {
    outcomes.values.count { $0.contains(where: isCounted) }
  }
}

func notification(_ number: Int, collapseID: String? = nil, payload: String? = nil)
  -> APNsNotification
{
  let digits = String(repeating: "0", count: 12 - "\(number)".count) + "\(number)"
  return APNsNotification(
    id: "00000000-0000-4000-8000-\(digits)",
    token: PushToken(hexEncoded(sha256("\(number)")))!, topic: FakeAPNs.topic,
    collapseID: collapseID ?? "event-\(number)",
    payload: Array((payload ?? #"{"aps":{"alert":"\#(number)"}}"#).utf8))!
}

func providerToken(issuedAt: Timestamp = .now()) throws -> String {
  try ProviderToken.make(
    keyID: "KEY1234567", teamID: "TEAM123456", issuedAt: issuedAt,
    key: P256PrivateKey(pem: testPrivateKey))
}

/// Sends `count` notifications to `fake`.
///
/// - Parameters:
///   - clock: the clock of all limits.
///   - deadline: the end of the run, by that clock.
///   - note: called after each report with the number of reports.
func send(
  _ count: Int, to fake: FakeAPNs, limits: APNsClient.Limits = testLimits(),
  by clock: LimitClock = .still, until deadline: ContinuousClock.Instant = .never,
  endpoint: APNsEndpoint? = nil, trust: TLSContext? = nil,
  tokens: @escaping @Sendable (String?) throws -> String = { _ in
    try providerToken()
  },
  noting note: (_ reported: Int) -> Void = { _ in }
) throws -> CountedRun {
  let client = APNsClient(
    endpoint: endpoint ?? fake.endpoint, trust: try trust ?? fake.trust(), limits: limits,
    clock: clock, providerToken: tokens)
  var counted = CountedRun()
  var (handedOut, reported) = (0, 0)
  counted.run = client.run(until: deadline) { asked in
    let batch = (handedOut..<min(handedOut + asked, count)).map { notification($0) }
    handedOut += batch.count
    for notification in batch { counted.outcomes[notification.id] = [] }
    return batch
  } report: { notification, outcome in
    counted.outcomes[notification.id]!.append(outcome)
    reported += 1
    note(reported)
  }
  return counted
}

/// Limits for tests over one connection, whose clock stands still.
func testLimits(_ change: (inout APNsClient.Limits) -> Void = { _ in }) -> APNsClient.Limits {
  var limits = APNsClient.Limits()
  limits.engine.window = 100
  limits.connections = 1
  change(&limits)
  return limits
}

let testPrivateKey = """
  -----BEGIN PRIVATE KEY-----
  MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8dqzcCXUpe7eivW2
  cOgWGiqB/J/x9ZS/lx34czoiNnmhRANCAASyAEEVZPhHVWyRNYawaufsGrwDaUC2
  G6uBqCqWbxv+W+Bguair2CFoydJ+pGqnCPz2zIsQduXecFYxHIUlwmHn
  -----END PRIVATE KEY-----
  """
let testPublicKey = """
  -----BEGIN PUBLIC KEY-----
  MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEsgBBFWT4R1VskTWGsGrn7Bq8A2lA
  thurgagqlm8b/lvgYLmoq9ghaMnSfqRqpwj89syLEHbl3nBWMRyFJcJh5w==
  -----END PUBLIC KEY-----
  """
