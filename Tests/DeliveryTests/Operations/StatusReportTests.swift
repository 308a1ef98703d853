import Administration
import Store
import Support
import Testing

@testable import Delivery

/// The state of the site where nothing is missing, and where nothing is known.
@Suite struct StatusReportTests {
  private func json(_ report: StatusReport) -> String {
    String(decoding: report.json, as: UTF8.self)
  }

  @Test func nothingIsSaidOfSettingsWhereNoneIsMissing() throws {
    try withDelivery { delivery throws in
      delivery.sql(
        """
        INSERT INTO companion_status (host, version, last_pass_at) VALUES ('h', '1', UTC_TIMESTAMP(3));
        INSERT INTO problems (host, name, reason, since, seen_at)
          VALUES ('', 'mail', 'Mails fail.', '2026-01-02', UTC_TIMESTAMP(3));
        """)
      let report = try delivery.companion(mailer: nil).statusReport()
      #expect(!report.text.contains("Not set, so something is left out"))
      #expect(report.text.contains("\nmail, since 2026-01-02T00:00:00Z\n"))
      #expect(
        report.text.hasSuffix(
          "\n  Android: not set (FCM_SERVICE_ACCOUNT)\n  Browsers: not set (WEBPUSH_VAPID_KEY)"))
      #expect(report.text.contains("\n  Apple: not set ("))
      #expect(json(report).contains(#""missing":[],"#))
      #expect(json(report).contains(#""channels":{"apns":[],"fcm":null,"webpush":null}"#))
    }
  }

  @Test func withoutADatabaseNothingIsKnown() throws {
    try withFolder { delivery throws in
      let report = try delivery.companion(mailer: nil).statusReport()
      #expect(report.text.contains("\ndatabase\n"))
      #expect(json(report).contains(#""last_pass":null,"host":null,"version":null,"missing":[],"#))
    }
  }
}
