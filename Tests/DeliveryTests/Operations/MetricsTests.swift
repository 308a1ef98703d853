import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The metrics of the site, and the files for Prometheus and Grafana.
@Suite(.serialized) struct MetricsTests {
  private func fail(_ delivery: TestDelivery) {
    delivery.sql(
      """
      INSERT INTO problems (host, name, reason, since, seen_at)
      VALUES ('h', 'mail', 'Mails fail.', '2026-01-02 03:04:05', UTC_TIMESTAMP(3))
      """)
  }

  /// The result of an independent reader of Prometheus's text format: a line `name type` for each
  /// family, and then `sample{labels} value`.
  private func parsed(_ text: String, in folder: String) throws -> [String] {
    let file = "\(folder)/metrics.prom"
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    let reader = """
      import sys
      from prometheus_client.parser import text_string_to_metric_families
      for family in text_string_to_metric_families(open(sys.argv[1]).read()):
        print(family.name, family.type)
        for sample in family.samples:
          labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
          print(f"{sample.name}{{{labels}}} {sample.value:g}")
      """
    let outcome = runProgram("/usr/bin/python3", ["-c", reader, file])
    try #require(outcome.status == 0, "\(outcome.output)")
    return outcome.output.split(separator: "\n").map(String.init)
  }

  @Test func metricsAreWhatPrometheusReads() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      fail(delivery)
      let companion = delivery.companion(mailer: .directory(delivery.folder))
      try companion.pass()
      let lines = try parsed(try companion.metrics(), in: delivery.folder)
      for line in [
        // This host has sent a mail, but the other host fails.
        "switchboard_problem{name=mail} 1", "switchboard_problem{name=apns} 0",
        "switchboard_mails_total{outcome=delivered} 1", "switchboard_mails counter",
        "switchboard_queue_length{queue=mails} 0",
        "switchboard_queue_oldest_seconds{queue=polls} 0",
        "switchboard_polls_paused{} 0", "switchboard_queue_length gauge",
        "switchboard_build_info{schema=\(Database.schemaVersion),version=\(Product.version)} 1",
      ] {
        #expect(lines.contains(line), "\(line)")
      }
      #expect(lines.count { $0.hasPrefix("switchboard_problem{") } == Problem.Name.allCases.count)
      #expect(lines.contains { $0.hasPrefix("switchboard_rows{table=accounts} ") })
    }
  }

  @Test func labelsCannotBreakTheText() throws {
    var family = MetricFamily("x", "Help.")
    family.add(1, ("a", "b\"c\\d\ne"))
    #expect(
      family.text
        == "# HELP switchboard_x Help.\n# TYPE switchboard_x gauge\nswitchboard_x{a=\"b\\\"c\\\\d\\ne\"} 1\n"
    )
  }

  @Test func eachPassReplacesTheFileThatTheCommandPrints() throws {
    try withDelivery { delivery throws in
      let file = "\(delivery.folder)/switchboard.prom"
      let settings = ["SWITCHBOARD_METRICS_FILE": file]
      for _ in 1...2 {
        try RunningCompanion(delivery, "run", changing: settings).end(expecting: 0)
      }
      let written = try delivery.text("switchboard.prom")
      _ = try parsed(written, in: delivery.folder)
      #expect(try !delivery.files.contains("switchboard.prom.part"))
      let command = try RunningCompanion(delivery, "metrics", changing: settings)
      try command.end(expecting: 0)
      func names(_ text: String) -> [Substring] {
        text.split(separator: "\n").map { $0.prefix { $0 != " " } }
      }
      #expect(names(command.output) == names(written))
    }
  }

  /// The file is readable in spite of the umask in the companion's unit, which hides new files from
  /// other users.
  @Test(.enabled(if: geteuid() == 0)) func theExportersUserReadsThemAndPromtoolFindsNothingWrong()
    throws
  {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      try #require(chmod(delivery.folder, 0o755) == 0)
      let file = "\(delivery.folder)/switchboard.prom"
      for run in 1...2 {
        try RunningCompanion(
          delivery, "run", changing: ["SWITCHBOARD_METRICS_FILE": file], umask: "077"
        ).end(expecting: 0)
        let read = runProgram(
          "setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", "cat", file])
        #expect(read.status == 0)
        // A mail may be sent after the end of the pass.
        let isCounted = read.output.contains("switchboard_mails_total{outcome=\"delivered\"} 1\n")
        #expect(isCounted || run == 1)
        let checked = runProgram("sh", ["-c", "\(Self.promtool) check metrics <\(file)"])
        #expect(checked.status == 0 && checked.output == "", "\(checked.output)")
      }
    }
  }

  @Test func metricsThatCannotBeWrittenKeepNoPassFromEnding() throws {
    try withDelivery { delivery throws in
      let companion = try RunningCompanion(
        delivery, "run", changing: ["SWITCHBOARD_METRICS_FILE": "/proc/none/x.prom"])
      try companion.end(expecting: 0)
      #expect(companion.log.contains("Metrics are not written: No such file or directory"))
    }
  }

  /// Without the database a pass fails, and the file says so.
  @Test func aPassWithoutItsDatabaseStillSaysSo() throws {
    try withDelivery { delivery throws in
      let companion = try RunningCompanion(
        delivery, "run",
        changing: [
          "SWITCHBOARD_METRICS_FILE": "\(delivery.folder)/s.prom",
          "SWITCHBOARD_DB_SOCKET": "\(delivery.folder)/none",
        ])
      try companion.end(expecting: 1)
      let lines = try parsed(try delivery.text("s.prom"), in: delivery.folder)
      #expect(lines.contains("switchboard_problem{name=database} 1"))
      #expect(!lines.contains { $0.hasPrefix("switchboard_last_pass_timestamp_seconds{") })
    }
  }

  // MARK: Files that ship with the program

  private static let folder = projectSchema.deletingLastPathComponent()
    .appending(path: "Sources/companion/monitoring")

  private static let promtool = projectSchema.deletingLastPathComponent()
    .appending(path: ".build/prometheus/usr/bin/promtool").path()

  /// Name and text of each alert, in order.
  private func alerts() throws -> [AlertRule] {
    let rules = try String(contentsOf: Self.folder.appending(path: "alerts.yml"), encoding: .utf8)
    return rules.components(separatedBy: "      - alert: ").dropFirst().map(AlertRule.init)
  }

  @Test func thereIsAnAlertForEachProblemInItsWordsAndOneForNoMetrics() throws {
    let rules = try alerts()
    #expect(rules.count == Problem.Name.allCases.count + 1)
    for (rule, name) in zip(rules, Problem.Name.allCases) {
      #expect(rule.text.contains(#"switchboard_problem{name="\#(name.rawValue)"}"#))
      #expect(rule.text.contains(#"summary: "\#(name.meaning)""#))
      #expect(rule.text.contains(#"description: "\#(name.advice)""#))
    }
    #expect(rules.last?.name == "SwitchboardMetrics")
  }

  /// Evaluates the alerts like Prometheus: each fires for its own problem, and none fires while all
  /// is well.
  @Test func eachAlertFires() throws {
    try withFolder { folder throws in
      let all = try alerts()
      let problems = Problem.Name.allCases.map {
        (#"switchboard_problem{name="\#($0.rawValue)", instance="a"}"#, "0x7 1x40")
      }
      let well = [
        (#"switchboard_build_info{instance="a"}"#, "1x60"),
        ("switchboard_last_pass_timestamp_seconds", "0+15x60"),
        ("switchboard_pass_interval_seconds", "30x60"),
      ]
      let late = [
        ("switchboard_last_pass_timestamp_seconds", "0x60"),
        (#"switchboard_pass_interval_seconds{instance="a"}"#, "30x60"),
        (#"switchboard_build_info{instance="a"}"#, "1x60"),
        (#"switchboard_build_info{instance="b"}"#, "1x4"),
      ]
      // The companion of the host b stops after the first minute. The exporter still serves its file.
      let stopped =
        well
        + ["a": "0+15x60", "b": "0+15x4 60x56"].map {
          (#"node_textfile_mtime_seconds{file="/m/switchboard.prom", instance="\#($0)"}"#, $1)
        } + ["a", "b"].map { (#"switchboard_pass_interval_seconds{instance="\#($0)"}"#, "30x60") }
      let companion = try #require(all.first { $0.name == "SwitchboardCompanion" })
      let metrics = try #require(all.last)
      let tests = [
        AlertRule.test(
          problems + well,
          all.map { $0.expected(at: "1m") } + all.dropLast().map { $0.expected(at: "5m", [""]) }
            + [metrics.expected(at: "5m")]),
        AlertRule.test(
          late,
          [
            companion.expected(at: "1m"), companion.expected(at: "3m", [""]),
            metrics.expected(at: "4m"), metrics.expected(at: "10m", ["instance: b, "]),
          ]),
        AlertRule.test(
          stopped,
          [metrics.expected(at: "5m"), metrics.expected(at: "9m", ["instance: b, "])]),
        AlertRule.test(
          [], [metrics.expected(at: "5m", [""]), companion.expected(at: "5m", [""])]),
      ]
      let file = "\(folder.folder)/test.yml"
      let rules = Self.folder.appending(path: "alerts.yml").path()
      try "rule_files: ['\(rules)']\ntests:\n\(tests.joined())".write(
        toFile: file, atomically: true, encoding: .utf8)
      let outcome = runProgram(Self.promtool, ["test", "rules", file])
      #expect(outcome.status == 0, "\(outcome.output)")
    }
  }

  @Test func alertsDashboardAndManualNameMetricsThatExist() throws {
    try withDelivery { delivery throws in
      let companion = delivery.companion(mailer: .directory(delivery.folder))
      try companion.pass()
      let families = Set(
        try companion.metrics().matches(of: #/# TYPE (\w+) /#).map { "\($0.output.1)" })
      let dashboard = try Data(contentsOf: Self.folder.appending(path: "dashboard.json"))
      _ = try JSONSerialization.jsonObject(with: dashboard)
      let manual = projectSchema.deletingLastPathComponent().appending(
        path: "Sources/Manual/monitor.md")
      for file in [
        String(decoding: dashboard, as: UTF8.self), try String(contentsOf: manual, encoding: .utf8),
        try String(contentsOf: Self.folder.appending(path: "alerts.yml"), encoding: .utf8),
      ] {
        let named = Set(file.matches(of: #/switchboard_\w+/#).map { String($0.output) })
        // The companion's system user has a similar name.
        #expect(named.subtracting(families).subtracting(["switchboard_companion"]) == [])
      }
      let text = try String(contentsOf: manual, encoding: .utf8)
      for family in families { #expect(text.contains("| `\(family)` |"), "\(family)") }
      for name in Problem.Name.allCases {
        #expect(
          text.contains("| `\(name.rawValue)` | \(name.meaning) | \(name.advice) |"), "\(name)")
      }
    }
  }
}

/// A rule of `alerts.yml`, and its test for `promtool test rules`.
private struct AlertRule {
  let text: String

  var name: String { String(text.prefix { $0 != "\n" }) }

  /// The line of the rule that begins with `name`.
  private func line(_ name: String) -> String {
    text.split(separator: "\n").map { $0.drop { $0 == " " } }
      .first { $0.hasPrefix("\(name): ") }.map(String.init) ?? ""
  }

  /// - Parameter labels: the labels of each firing alert, without the severity.
  func expected(at time: String, _ labels: [String] = []) -> String {
    let alerts = labels.map {
      """
      {exp_labels: {\($0)\(line("severity"))}, exp_annotations: {\(line("summary")), \(line("description"))}}
      """
    }
    let list = alerts.joined(separator: ", ")
    return "{eval_time: \(time), alertname: \(name), exp_alerts: [\(list)]}"
  }

  /// - Parameter series: the series with their values, one every 15 seconds.
  static func test(_ series: [(String, String)], _ expectations: [String]) -> String {
    let inputs = series.map { "{series: '\($0)', values: '\($1)'}" }
    return """
      - interval: 15s
        input_series: [\(inputs.joined(separator: ", "))]
        alert_rule_test: [\(expectations.joined(separator: ", "))]

      """
  }
}
