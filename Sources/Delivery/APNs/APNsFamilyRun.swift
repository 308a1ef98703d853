import Base
import Store

/// One run of several apps, one after the other: each has its own hosts, its own rule on wrong tokens and its own end.
final class APNsFamilyRun: ChannelRun {
  private let apps: APNsApps
  private let runs: [APNsChannelRun]
  /// Taken, and not given to its app yet; by app.
  private var waiting: [[OutgoingDelivery]]
  private var isAtEnd = false

  /// How long the deliveries of an app wait to which nothing can be sent.
  private static let delay = Duration.seconds(60)

  init(_ apps: APNsApps, until deadline: ContinuousClock.Instant) {
    self.apps = apps
    runs = apps.all.map { $0.channelRun(until: deadline) }
    waiting = runs.map { _ in [] }
  }

  var isStopped: Bool { runs.allSatisfy(\.isStopped) }

  var alarm: String? {
    zip(apps.all, runs).lazy.compactMap { app, run in
      run.alarm.map { "\(app.settings.name): \($0)" }
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
        if !runs[index].isStopped {
          runs[index].send(isOver: isOver) { count in
            let ours = take(count, for: index, next)
            taken += ours.count
            return ours
          } report: { sent in
            report(sent)
          }
        }
        if taken == 0, !isOver() { postpone(index, report) }
      }
    } while !isOver() && (!isAtEnd || waiting.contains { !$0.isEmpty })
  }

  /// At most `count` deliveries for an app; none where those that come next are of other apps.
  private func take(
    _ count: Int, for index: Int, _ next: (Int) -> [OutgoingDelivery]
  ) -> [OutgoingDelivery] {
    if waiting[index].isEmpty {
      let taken = next(count)
      isAtEnd = taken.isEmpty
      for delivery in taken {
        waiting[apps.position(of: delivery.delivery.bundleID)].append(delivery)
      }
    }
    let ours = Array(waiting[index].prefix(count))
    waiting[index].removeFirst(ours.count)
    return ours
  }

  /// What cannot be sent makes room for what is of other apps.
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
