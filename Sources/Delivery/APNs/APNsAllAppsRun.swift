import Base
import Store

/// One run for several apps, one after the other. Each app has its own hosts, counts its own
/// refused tokens and stops on its own.
///
/// A token without a bundle id is tried with each other app once if Apple assigns it to another
/// app. The run remembers the app for which Apple accepts the token.
final class APNsAllAppsRun: ChannelRun {
  private let apps: APNsApps
  private var runs: [APNsChannelRun] = []
  /// Deliveries that were taken but not passed to their app yet, by app.
  private var waiting: [[OutgoingDelivery]]
  private var isAtEnd = false
  /// Number of apps that a delivery was tried with before the current app, by id.
  private var tries: [String: Int] = [:]

  /// Delay for the deliveries of an app that cannot send.
  private static let delay = Duration.seconds(60)

  init(_ apps: APNsApps, until deadline: ContinuousClock.Instant) {
    self.apps = apps
    waiting = apps.all.map { _ in [] }
    runs = apps.all.enumerated().map { index, app in
      app.channelRun(until: deadline) { [unowned self] in handOver($0, from: index) }
    }
  }

  private func handOver(_ outgoing: OutgoingDelivery, from index: Int) -> Bool {
    let delivery = outgoing.delivery
    let count = tries[delivery.id, default: 0] + 1
    guard apps.position(of: delivery.bundleID) == nil, count < runs.count else { return false }
    tries[delivery.id] = count
    waiting[(index + 1) % runs.count].append(outgoing)
    return true
  }

  /// Remembers which app accepted the token.
  private func remembering(_ sent: SentDelivery, _ outgoing: OutgoingDelivery?, by app: APNsApp)
    -> SentDelivery
  {
    guard let token = outgoing?.delivery.token, sent.outcome == .delivered,
      sent.afterwards == nil
    else { return sent }
    var sent = sent
    sent.afterwards = { try app.learn(app.settings.environment, of: token) }
    return sent
  }

  var isStopped: Bool { runs.allSatisfy(\.isStopped) }

  var problem: String? {
    zip(apps.all, runs).lazy.compactMap { app, run in
      run.problem.map { "\(app.settings.name): \($0)" }
    }.first
  }

  func finish() -> [DeadToken] { runs.flatMap { $0.finish() } }

  func send(
    isOver: () -> Bool, next: (Int) -> [OutgoingDelivery], report: (SentDelivery) -> Void
  ) {
    isAtEnd = false
    repeat {
      for index in runs.indices {
        var taken = 0
        var handedOver: [String: OutgoingDelivery] = [:]
        if !runs[index].isStopped {
          runs[index].send(isOver: isOver) { count in
            let ours = take(count, for: index, next)
            taken += ours.count
            for delivery in ours where tries[delivery.delivery.id] != nil {
              handedOver[delivery.delivery.id] = delivery
            }
            return ours
          } report: { sent in
            report(remembering(sent, handedOver[sent.id], by: apps.all[index]))
          }
        }
        if taken == 0, !isOver() { postpone(index, report) }
      }
    } while !isOver() && (!isAtEnd || waiting.contains { !$0.isEmpty })
  }

  /// At most `count` deliveries for an app; empty if the next ones belong to other apps.
  private func take(
    _ count: Int, for index: Int, _ next: (Int) -> [OutgoingDelivery]
  ) -> [OutgoingDelivery] {
    if waiting[index].isEmpty {
      let taken = next(count)
      isAtEnd = taken.isEmpty
      for delivery in taken {
        waiting[apps.position(onRoute: delivery.route)].append(delivery)
      }
    }
    let ours = Array(waiting[index].prefix(count))
    waiting[index].removeFirst(ours.count)
    return ours
  }

  /// Delays the deliveries of an app that cannot send, so that those of other apps can be taken.
  private func postpone(_ index: Int, _ report: (SentDelivery) -> Void) {
    for delivery in waiting[index] {
      report(
        SentDelivery(
          id: delivery.delivery.id,
          outcome: .later(
            delay: Self.delay, status: nil, reason: "its app is not served",
            countsAsAttempt: false)))
    }
    waiting[index] = []
  }
}
