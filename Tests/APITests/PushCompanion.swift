import Cryptography
import Delivery
import Foundation
import Store
import Support
import Synchronization
import Testing

extension TestApplication {
  /// Calls `body` while a companion does every errand, sending by `gateway`.
  func withCompanion<T>(_ gateway: PushGateway?, _ body: () throws -> T) throws -> T {
    let companion = Companion(
      database: Database(accountSettings(of: "companion", in: root)),
      settings: Settings(
        credentialKeys: Self.keys, mailer: nil, sender: "s@example.org",
        auditLifetime: .seconds(1), interval: .seconds(1), missingForPushes: ["APNS_KEY_ID"]),
      log: Evidence.log(of: root.database), pushGateway: gateway)
    let thread = CompanionThread(companion)
    defer { thread.stop() }
    return try body()
  }
}

/// Does errands until it is stopped.
private final class CompanionThread: Sendable {
  private let isStopped = Atomic(false)
  private let isDone = DispatchSemaphore(value: 0)

  init(_ companion: Companion) {
    Thread.detachNewThread {
      while !self.isStopped.load(ordering: .relaxed) {
        do { try companion.runErrands() } catch { Issue.record("\(error)") }
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
