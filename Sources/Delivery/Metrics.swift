import Base
import Glibc
import Store

/// Prometheus metric with its samples.
struct MetricFamily {
  enum Kind: String { case counter, gauge }

  /// Name without the `_total` of a counter.
  let name: String
  let kind: Kind
  /// Help text, a sentence.
  let help: String
  var samples: [(labels: [(String, String)], value: String)] = []

  init(_ name: String, _ help: String, kind: Kind = .gauge) {
    self.name = "switchboard_\(name)"
    self.kind = kind
    self.help = help
  }

  mutating func add(_ value: some BinaryInteger, _ labels: (String, String)...) {
    samples.append((labels, "\(value)"))
  }

  mutating func add(_ duration: Duration, _ labels: (String, String)...) {
    let milliseconds = duration.milliseconds
    samples.append(
      (labels, "\(milliseconds / 1000).\(String(1000 + milliseconds % 1000).dropFirst())"))
  }

  /// Text format 0.0.4 of Prometheus, which node_exporter reads. Escapes label values, although
  /// they are only our own words, ids of banks and versions.
  var text: String {
    let sampleName = kind == .counter ? name + "_total" : name
    let lines = samples.map { sample in
      let labels = sample.labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
      return sampleName + (labels.isEmpty ? "" : "{\(labels)}") + " " + sample.value
    }
    return (["# HELP \(sampleName) \(help)", "# TYPE \(sampleName) \(kind.rawValue)"] + lines)
      .map { $0 + "\n" }.joined()
  }

  private static func escaped(_ value: String) -> String {
    value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
      .replacing("\n", with: "\\n")
  }
}

extension Companion {
  /// Metrics of the site in Prometheus's format. If the database does not answer or has another
  /// schema, they hold this problem and the numbers that can be read.
  package func metrics() throws -> String {
    let health = try records.health()
    let isOtherSchema = health.problems.contains { $0.name == .schema }
    var families = [build()] + problems(of: health)
    do {
      families += try lastPass() + queues() + counts() + tables()
    } catch  where Database.isUnavailable(error) || isOtherSchema {
      log.debug("Without the database or its schema there are few metrics: \(error)")
    }
    return families.map(\.text).joined()
  }

  private func build() -> MetricFamily {
    var build = MetricFamily("build_info", "Always 1; the version of the companion.")
    build.add(1, ("version", Product.version), ("schema", "\(Database.schemaVersion)"))
    return build
  }

  private func problems(of health: Health) -> [MetricFamily] {
    var problem = MetricFamily("problem", "1 while this fails, else 0: see switchboard status.")
    for name in Problem.Name.allCases {
      let fails = health.problems.contains { $0.name == name }
      problem.add(fails ? 1 : 0, ("name", name.rawValue))
    }
    var missing = MetricFamily(
      "missing_settings", "Number of unset variables that switch a feature off.")
    missing.add(settings.missing.count)
    var interval = MetricFamily("pass_interval_seconds", "From one pass to the next.")
    interval.add(settings.interval)
    return [problem, missing, interval]
  }

  private func lastPass() throws -> [MetricFamily] {
    var end = MetricFamily(
      "last_pass_timestamp_seconds", "When the last whole pass on this host ended.")
    var duration = MetricFamily(
      "last_pass_duration_seconds", "How long the last whole pass on this host took.")
    if let pass = try records.measurements.lastPass(on: hostName()) {
      end.add(pass.endedAt.seconds)
      duration.add(pass.duration)
    }
    return [end, duration]
  }

  private func queues() throws -> [MetricFamily] {
    var length = MetricFamily(
      "queue_length", "Work that is due and not begun; counted up to \(Measurements.mostCounted).")
    var oldest = MetricFamily("queue_oldest_seconds", "How long the oldest work has been due.")
    for queue in try records.measurements.queues() {
      length.add(queue.length, ("queue", queue.name))
      oldest.add(queue.oldest, ("queue", queue.name))
    }
    var overdue = MetricFamily(
      "deliveries_oldest_seconds", "How long the oldest open delivery of a channel has been due.")
    let waits = try records.measurements.deliveryWaits().map { ($0.channel.name, $0.oldest) }
    let idle = senders.map { ($0.channel.name.name, Duration.zero) }
    let oldestWaits = Dictionary(waits + idle, uniquingKeysWith: max)
    for (channel, wait) in oldestWaits.sorted(by: { $0.key < $1.key }) {
      overdue.add(wait, ("channel", channel))
    }
    var paused = MetricFamily("polls_paused", "1 while polls of online-go.com are paused, else 0.")
    paused.add(try records.measurements.arePollsPaused() ? 1 : 0)
    return [length, oldest, overdue, paused]
  }

  private func counts() throws -> [MetricFamily] {
    let totals = try records.counters.totals(on: hostName())
    return Count.Name.allCases.map { name in
      var family = MetricFamily(name.rawValue, Self.help(of: name), kind: .counter)
      for total in totals where total.name == name {
        family.add(total.number, ("outcome", total.outcome))
      }
      return family
    }
  }

  private static func help(of name: Count.Name) -> String {
    switch name {
    case .deliveries: "Notifications to devices on this host, by channel and outcome."
    case .jobs: "Jobs on this host, by kind and outcome."
    case .mails: "Attempts to send a mail on this host, by outcome."
    case .polls: "Polls of online-go.com on this host, by outcome."
    case .webhooks: "Attempts to tell a merchant on this host, by outcome."
    }
  }

  private func tables() throws -> [MetricFamily] {
    var rows = MetricFamily("rows", "About how many rows a table has.")
    for size in try records.measurements.tableSizes() { rows.add(size.rows, ("table", size.table)) }
    var late = MetricFamily(
      "purge_late_seconds", "How long the oldest row has waited to be deleted.")
    for row in try records.measurements.purgeLateness(auditLifetime: settings.auditLifetime) {
      late.add(max(Duration.zero, row.late), ("table", row.table))
    }
    return [rows, late]
  }

  /// Replaces the file for metrics, if one is configured. Logs failures, because metrics must not
  /// make a pass fail.
  package func writeMetrics() {
    guard let path = settings.metricsFile else { return }
    do {
      try Self.replace(path, with: try metrics())
    } catch {
      log.error("Metrics are not written: \(error)", metadata: ["file": "\(path)"])
    }
  }

  /// Replaces the file atomically, so that the exporter never reads half a file. Sets the mode,
  /// because the exporter runs as another user.
  private static func replace(_ path: String, with text: String) throws(MetricsError) {
    let bytes = Array(text.utf8)
    let part = path + ".part"
    let file = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw MetricsError(number: errno) }
    let isWritten = fchmod(file, 0o644) == 0 && write(file, bytes, bytes.count) == bytes.count
    guard close(file) == 0, isWritten, rename(part, path) == 0 else {
      defer { unlink(part) }
      throw MetricsError(number: errno)
    }
  }
}

/// The file system refuses the file.
private struct MetricsError: Error, CustomStringConvertible {
  let number: CInt

  var description: String { String(cString: strerror(number)) }
}
