import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// What administrators are told: `status`, `metrics`, and the files for Prometheus and Grafana.
@Suite(.serialized) struct StatusTests {
  private func fail(_ delivery: TestDelivery) {
    delivery.sql(
      """
      INSERT INTO conditions (host, name, reason, since, seen_at)
      VALUES ('h', 'mail', 'Mails fail.', '2026-01-02 03:04:05', UTC_TIMESTAMP(3))
      """)
  }

  @Test func whereAllIsWellItEndsWith0() throws {
    try withDelivery { delivery throws in
      try RunningCompanion(delivery, "run").end(expecting: 0)
      let status = try RunningCompanion(delivery, "status")
      try status.end(expecting: 0)
      #expect(status.output.hasPrefix("All is well.\n"))
      #expect(status.output.contains("The last pass ended "))
      #expect(
        status.output.contains("Not set, so something is left out: SWITCHBOARD_CONTACT APNS_KEY_ID")
      )
    }
  }

  @Test func aProblemIsToldWithItsReasonAndWhatToDo() throws {
    try withDelivery { delivery throws in
      try RunningCompanion(delivery, "run").end(expecting: 0)
      fail(delivery)
      let status = try RunningCompanion(delivery, "status")
      try status.end(expecting: 1)
      #expect(
        status.output.hasPrefix(
          """
          The site answers requests, but one thing fails.

          mail, since 2026-01-02T03:04:05Z, on h
            Mails fail.
            \(Condition.Name.mail.advice)

          """))
      let json = try RunningCompanion(delivery, "status --json")
      try json.end(expecting: 1)
      let read = try #require(
        try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
      #expect(read["status"] as? String == "degraded")
      #expect((read["missing"] as? [String])?.first == "SWITCHBOARD_CONTACT")
      let problem = try #require((read["problems"] as? [[String: String]])?.first)
      #expect(
        problem == [
          "name": "mail", "subject": "", "host": "h", "since": "2026-01-02T03:04:05Z",
          "reason": "Mails fail.", "advice": Condition.Name.mail.advice,
        ])
    }
  }

  @Test func appsAndChannelsAreListedWithoutSecrets() throws {
    try withDelivery { delivery throws in
      try RunningCompanion(delivery, "run").end(expecting: 0)
      let bare = try RunningCompanion(delivery, "status")
      try bare.end(expecting: 0)
      #expect(
        bare.output.hasSuffix(
          """

          Notifications go to
            Apple: not set (APNS_KEY_ID APNS_TEAM_ID APNS_BUNDLE_ID APNS_PRIVATE_KEY)
            Android: not set (FCM_SERVICE_ACCOUNT)
            Browsers: not set (WEBPUSH_VAPID_KEY)

          """), "\(bare.output)")
      try withFCM { fake throws in
        let key = testPrivateKey.replacing("\n", with: "\\n")
        let app = #""team_id":"TEAM123456","key_id":"KEY1234567","key":"\#(key)""#
        let environment = [
          "APNS_APPS":
            #"[{"name":"One","bundle_id":"com.example.one",\#(app)},{"name":"com.example.two","bundle_id":"com.example.two","host":"sandbox",\#(app)}]"#,
          "FCM_SERVICE_ACCOUNT": fake.serviceAccount, "WEBPUSH_VAPID_KEY": testPrivateKey,
          "WEBPUSH_SUBJECT": "mailto:a@example.org",
        ]
        let status = try RunningCompanion(delivery, "status", changing: environment)
        try status.end(expecting: 0)
        let point = try P256PrivateKey(pem: testPrivateKey).publicKey().uncompressedPoint
        let publicKey = base64URLEncoded(point)
        #expect(
          status.output.hasSuffix(
            """

            Notifications go to
              Apple: One (com.example.one) of team TEAM123456, first at https://api.push.apple.com
              Apple: com.example.two of team TEAM123456, first at https://api.sandbox.push.apple.com
              Android: Firebase project \(FakeFCM.project), as \(FakeFCM.account)
              Browsers: with the public key \(publicKey.prefix(16))…

            """), "\(status.output)")
        let json = try RunningCompanion(delivery, "status --json", changing: environment)
        try json.end(expecting: 0)
        #expect(
          json.output.contains(
            #""fcm":{"project":"\#(FakeFCM.project)","account":"\#(FakeFCM.account)"},"webpush":{"public_key":"\#(publicKey)"}}"#
          ), "\(json.output)")
        #expect(
          json.output.contains(
            #""channels":{"apns":[{"name":"One","bundle_id":"com.example.one","team_id":"TEAM123456","host":"#
          ))
        for output in [status.output, json.output] {
          #expect(!output.contains("PRIVATE KEY"))
          for line in testPrivateKey.split(separator: "\n") { #expect(!output.contains(line)) }
        }
      }
    }
  }

  @Test func aDatabaseThatDoesNotAnswerIsToldToo() throws {
    try withDelivery { delivery throws in
      let status = try RunningCompanion(
        delivery, "status", changing: ["SWITCHBOARD_DB_SOCKET": "\(delivery.folder)/none"])
      try status.end(expecting: 1)
      #expect(status.output.contains("The site cannot answer requests."))
      #expect(status.output.contains("database\n  The database does not answer.\n"))
    }
  }

  // MARK: Metrics

  /// What an independent reader makes of OpenMetrics text: a line `name type` for each family, and then
  /// `sample{labels} value`.
  private func parsed(_ text: String, in folder: String) throws -> [String] {
    let file = "\(folder)/metrics.prom"
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    let reader = """
      import sys
      from prometheus_client.openmetrics.parser import text_string_to_metric_families
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

  @Test func metricsAreOpenMetrics() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      fail(delivery)
      let companion = delivery.companion(mailer: .directory(delivery.folder))
      try companion.pass()
      let lines = try parsed(try companion.metrics(), in: delivery.folder)
      for line in [
        // This host has sent a mail, but the other one fails.
        "switchboard_problem{name=mail} 1", "switchboard_problem{name=apns} 0",
        "switchboard_mails_total{outcome=delivered} 1", "switchboard_mails counter",
        "switchboard_queue_length{queue=mails} 0",
        "switchboard_queue_oldest_seconds{queue=polls} 0",
        "switchboard_polls_paused{} 0", "switchboard_queue_length gauge",
        "switchboard_build_info{schema=\(Database.schemaVersion),version=\(Product.version)} 1",
      ] {
        #expect(lines.contains(line), "\(line)")
      }
      #expect(lines.count { $0.hasPrefix("switchboard_problem{") } == Condition.Name.allCases.count)
      #expect(lines.contains { $0.hasPrefix("switchboard_rows{table=accounts} ") })
    }
  }

  @Test func labelsCannotBreakTheText() throws {
    var family = MetricFamily("x", "Help.")
    family.add(1, ("a", "b\"c\\d\ne"))
    #expect(
      family.text
        == "# TYPE switchboard_x gauge\n# HELP switchboard_x Help.\nswitchboard_x{a=\"b\\\"c\\\\d\\ne\"} 1\n"
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
      #expect(
        runProgram("stat", ["--format=%a", file]).output == "644\n", "the exporter is another user")
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

  /// Without the database a pass fails, and whoever reads the file is told.
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

  // MARK: What ships beside the program

  private static let folder = projectSchema.deletingLastPathComponent()
    .appending(path: "Sources/companion/monitoring")

  @Test func thereIsAnAlertForEachConditionInItsWords() throws {
    let rules = try String(contentsOf: Self.folder.appending(path: "alerts.yml"), encoding: .utf8)
      .components(separatedBy: "      - alert: ").dropFirst()
    #expect(rules.count == Condition.Name.allCases.count)
    for (rule, name) in zip(rules, Condition.Name.allCases) {
      #expect(rule.contains(#"switchboard_problem{name="\#(name.rawValue)"}"#))
      #expect(rule.contains(#"summary: "\#(name.meaning)""#))
      #expect(rule.contains(#"description: "\#(name.advice)""#))
    }
  }

  @Test func alertsDashboardAndManualNameMetricsThatExist() throws {
    try withDelivery { delivery throws in
      let companion = delivery.companion(mailer: .directory(delivery.folder))
      try companion.pass()
      let families = Set(
        try companion.metrics().matches(of: #/# TYPE (\w+) (\w+)/#).map {
          $0.output.2 == "counter" ? "\($0.output.1)_total" : "\($0.output.1)"
        })
      let dashboard = try Data(contentsOf: Self.folder.appending(path: "dashboard.json"))
      _ = try JSONSerialization.jsonObject(with: dashboard)
      let manual = projectSchema.deletingLastPathComponent().appending(
        path: "Sources/Manual/monitor.md")
      for file in [
        String(decoding: dashboard, as: UTF8.self), try String(contentsOf: manual, encoding: .utf8),
        try String(contentsOf: Self.folder.appending(path: "alerts.yml"), encoding: .utf8),
      ] {
        let named = Set(file.matches(of: #/switchboard_\w+/#).map { String($0.output) })
        // The companion's system user has a name like theirs.
        #expect(named.subtracting(families).subtracting(["switchboard_companion"]) == [])
      }
      let text = try String(contentsOf: manual, encoding: .utf8)
      for family in families { #expect(text.contains("| `\(family)` |"), "\(family)") }
      for name in Condition.Name.allCases {
        #expect(
          text.contains("| `\(name.rawValue)` | \(name.meaning) | \(name.advice) |"), "\(name)")
      }
    }
  }
}
