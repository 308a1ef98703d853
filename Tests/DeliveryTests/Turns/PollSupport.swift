import Base
import Foundation
import MariaDB
import Store
import Support
import Synchronization
import Testing

@testable import Delivery

/// A companion that polls a fake online-go.com.
struct TestPolling: Sendable {
  let delivery: TestDelivery
  let site: FakeOGS

  static let tokens = ["a", "b", "c"].map { String(repeating: $0, count: 64) }

  func sql(_ statements: String) -> String {
    delivery.sql("SET time_zone = '+00:00'; \(statements)")
  }

  func companion(
    prefix: String = "", rate: Int = 1000, interval: Int = 30, pace: PollPace? = nil,
    clock: LimitClock = .still
  ) -> Companion {
    Companion(
      database: Database(accountSettings(of: "companion", in: delivery.root)),
      settings: Settings(
        keys: TestDelivery.keys, mailer: nil, sender: "switchboard@example.org",
        auditLifetime: .seconds(86_400), interval: .seconds(interval),
        polling: PollSettings(
          baseURL: site.url, contact: "admin@example.org", requestsPerSecond: rate,
          pace: pace ?? PollPace(interval: .seconds(interval)), prefix: prefix), clock: clock),
      log: Evidence.log(of: delivery.root.database))
  }

  /// Polls with the companion's rights.
  var polls: Polls {
    companion().database.records(at: .now(), from: .companion).polls
  }

  /// The records with the responder's rights.
  var responder: Records {
    Database(accountSettings(of: "responder", in: delivery.root))
      .records(at: .now(), from: Origin(requestID: "r", address: "192.0.2.1"))
  }

  /// Environment variables for the companion's program.
  var environment: [String: String] {
    [
      "SWITCHBOARD_SUBSTITUTES": "ogs=\(site.url)",
      "SWITCHBOARD_ADMINISTRATOR": "admin@example.org",
    ]
  }

  /// Registers devices, like the responder.
  func register(_ user: Int64 = 7, devices: Int = 1) throws {
    for token in Self.tokens.prefix(devices) {
      try responder.turnRegistrations.add(
        TurnDevice(try #require(DeviceToken(token))), of: user)
    }
  }

  /// Polls all users, due or not.
  ///
  /// - Returns: the time of the beginning, by the database's clock.
  @discardableResult
  func poll(_ companion: Companion? = nil) throws -> String {
    let began = clock()
    _ = sql("UPDATE ogs_users SET due_at = UTC_TIMESTAMP(3)")
    try (companion ?? self.companion()).pollDueUsers()
    return began
  }

  func clock() -> String { sql(databaseClock) }

  /// Whether user 7 is due `seconds` after a moment between `began` and now.
  func isDue(in seconds: ClosedRange<Int>, since began: String) -> Bool {
    sql(isAhead("due_at", in: "ogs_users WHERE id = 7", by: seconds, since: began)) == "1"
  }

  /// Whether the pause ends `seconds` after a moment between `began` and now.
  func isPaused(for seconds: ClosedRange<Int>, since began: String) -> Bool {
    sql(isAhead("paused_until", in: "ogs_pause", by: seconds, since: began)) == "1"
  }

  /// Adds the leases of all channels, as if all were configured.
  func addLeases() throws {
    let deliveries = companion().database.records(at: .now(), from: .companion).deliveries
    for channel in [Channel.apns, .fcm, .webPush] { try deliveries.addLeases(of: channel) }
  }

  /// Marks all waiting notifications as delivered, like a pass.
  func deliver(by channel: Channel = .apns) throws {
    let deliveries = companion().database.records(at: .now(), from: .companion).deliveries
    for shard in try deliveries.dueShards(of: channel) {
      let id = sql("SELECT UUID()")
      guard let lease = try deliveries.claim(shard: shard, of: channel, as: id) else { continue }
      while let batch = try deliveries.nextBatch(of: lease, limit: 100), !batch.isEmpty {
        _ = try deliveries.record(batch.map { ($0, .delivered) }, under: lease)
      }
      try deliveries.release(lease)
    }
  }

  /// The badges that were sent without an alert, oldest first.
  var badges: [String] {
    sql("SELECT badge FROM notifications WHERE kind = 'badge' ORDER BY id")
      .split(separator: "\n").map(String.init)
  }

  /// The texts of all notifications, oldest first.
  var alerts: [String] {
    sql("SELECT body FROM notifications WHERE kind <> 'badge' ORDER BY id")
      .split(separator: "\n").map(String.init)
  }

  var failure: String { sql("SELECT failures, failure FROM ogs_users WHERE id = 7") }
}

extension Companion {
  /// Polls the due users.
  func pollDueUsers() throws {
    try #require(polling).pollDueUsers(atMost: .unlimited)
  }
}

/// Calls `body` with a new database and a new fake online-go.com.
func withPolling<T>(_ body: (TestPolling) throws -> T) throws -> T {
  try withDelivery { delivery throws in
    let site = try #require(FakeOGS())
    defer { site.end() }
    return try body(TestPolling(delivery: delivery, site: site))
  }
}
