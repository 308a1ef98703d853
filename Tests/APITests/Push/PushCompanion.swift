import Cryptography
import Delivery
import Foundation
import Store
import Support
import Synchronization
import Testing

extension TestApplication {
  /// A companion with its own rights, sending by `gateway`.
  func companion(
    _ gateway: PushGateway? = nil, keys: Keyring = TestApplication.keys
  ) -> Companion {
    Companion(
      database: Database(accountSettings(of: "companion", in: root)),
      settings: Settings(
        credentialKeys: keys, mailer: nil, sender: "s@example.org",
        auditLifetime: .seconds(1), interval: .seconds(1), missingForPushes: ["APNS_KEY_ID"]),
      log: Evidence.log(of: root.database), pushGateway: gateway)
  }

  /// Calls `body` while a companion does every errand of the lane, sending by `gateway`.
  func withCompanion<T>(
    _ gateway: PushGateway? = nil, of lane: Errand.Lane = .others,
    keys: Keyring = TestApplication.keys, _ body: () throws -> T
  ) throws -> T {
    let thread = CompanionThread(companion(gateway, keys: keys), lane)
    defer { thread.stop() }
    return try body()
  }
}

/// Does errands until it is stopped.
private final class CompanionThread: Sendable {
  private let isStopped = Atomic(false)
  private let isDone = DispatchSemaphore(value: 0)

  init(_ companion: Companion, _ lane: Errand.Lane) {
    Thread.detachNewThread {
      while !self.isStopped.load(ordering: .relaxed) {
        do { try companion.runErrands(of: lane) } catch { Issue.record("\(error)") }
        usleep(2_000)
      }
      self.isDone.signal()
    }
  }

  func stop() {
    isStopped.store(true, ordering: .relaxed)
    isDone.wait()
  }
}

extension PushGateway {
  /// An Apple that takes everything.
  static let accepting = PushGateway(topic: "t", concurrency: 4) { notifications in
    Dictionary(
      uniqueKeysWithValues: notifications.map { ($0.id, .accepted(apnsID: $0.id)) })
  }

  /// An Apple that must not be asked.
  static let silent = PushGateway(topic: "t", concurrency: 4) { _ in
    Issue.record("Apple was asked")
    return [:]
  }
}
