import Base
import Cryptography
import Foundation
import Store
import Support
import Synchronization
import Testing

@testable import Delivery

extension TestApplication {
  /// The address range of the tests' servers.
  static let loopback = OutboundRule(allowing: [IPNetwork("127.0.0.0/8")!])

  /// The time after a callback in which a companion may ask the bank.
  static let bankWaitLimit = Duration.seconds(86_400)

  /// A companion with only its own rights, which sends to `platforms` with `sender`.
  func companion(
    _ sender: DirectSender? = nil, to platforms: Set<PushPlatform> = [.ios, .macos],
    keys: CompanionKeys = CompanionKeys(TestApplication.boxKeys),
    outbound: OutboundRule = loopback, publicURL: String? = nil
  ) -> Companion {
    Companion(
      database: Database(accountSettings(of: "companion", in: root).patient),
      settings: Settings(
        keys: keys, mailer: nil, sender: "s@example.org",
        auditLifetime: .seconds(1), interval: .seconds(1), missingForPushes: ["APNS_KEY_ID"],
        publicURL: publicURL, bankWaitLimit: Self.bankWaitLimit, outbound: outbound),
      log: Evidence.log(of: root.database),
      channels: sender.map { [.sending(to: platforms, with: $0)] } ?? [])
  }

  /// Calls `body` while a companion runs every job of the worker and sends with `sender`.
  func withCompanion<T>(
    _ sender: DirectSender? = nil, to platforms: Set<PushPlatform> = [.ios, .macos],
    of worker: Job.Kind.Worker = .pushTests,
    keys: CompanionKeys = CompanionKeys(TestApplication.boxKeys),
    outbound: OutboundRule = loopback, publicURL: String? = nil, _ body: () throws -> T
  ) throws -> T {
    let thread = CompanionThread(
      companion(sender, to: platforms, keys: keys, outbound: outbound, publicURL: publicURL),
      worker)
    defer { thread.stop() }
    return try body()
  }
}

/// A thread that runs jobs until it is stopped.
private final class CompanionThread: Sendable {
  private let isStopped = Atomic(false)
  private let isDone = DispatchSemaphore(value: 0)

  init(_ companion: Companion, _ worker: Job.Kind.Worker) {
    Thread.detachNewThread {
      while !self.isStopped.load(ordering: .relaxed) {
        do { try companion.jobs.only(worker).run() } catch { Issue.record("\(error)") }
        usleep(2_000)  // leaves the processor to the test
      }
      do { try companion.storeProblems() } catch { Issue.record("\(error)") }
      self.isDone.signal()
    }
  }

  func stop() {
    isStopped.store(true, ordering: .relaxed)
    waiting(for: "the end of the companion") { isDone.wait() }
  }
}

extension DeliveryChannel {
  /// A channel without deliveries, which sends test pushes with `sender`.
  fileprivate static func sending(
    to platforms: Set<PushPlatform>, with sender: DirectSender
  ) -> DeliveryChannel {
    DeliveryChannel(
      name: .apns, platforms: platforms, beginRun: { _ in EmptyRun() }, describe: { _ in "" },
      direct: sender)
  }
}

private final class EmptyRun: ChannelRun {
  let problem: String? = nil
  let isStopped = false

  func send(
    isOver: () -> Bool, next: (Int) -> [OutgoingDelivery], report: (SentDelivery) -> Void
  ) {}

  func finish() -> [DeadToken] { [] }
}

extension DirectSender {
  /// An Apple sender that accepts everything.
  static let accepting = DirectSender(topic: "t", concurrency: 4) { notifications in
    Dictionary(
      uniqueKeysWithValues: notifications.map { ($0.id, .accepted(apnsID: $0.id)) })
  }

  /// An Apple sender that must not be called.
  static let silent = DirectSender(topic: "t", concurrency: 4) { _ in
    Issue.record("Apple was asked")
    return [:]
  }
}
