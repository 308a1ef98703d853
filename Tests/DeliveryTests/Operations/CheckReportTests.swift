import Foundation
import Store
import Support
import Testing

@testable import Administration
@testable import Delivery

/// Lines of `check` and of tests and lists of devices that say what is right, or that something is not known.
@Suite struct CheckReportTests {
  /// A file of secrets for its owner, for everybody, and none.
  @Test(arguments: [
    (0o600, "ok       no other user can read the files of secrets"),
    (0o644, "PROBLEM  Anybody on this host can read"),
    (nil, nil),
  ])
  func filesOfSecretsAreCheckedWhereTheyAreKnown(mode: UInt32?, line: String?) throws {
    try withDelivery { delivery throws in
      let file = "\(delivery.folder)/key"
      try #require(chmod(delivery.folder, 0o755) == 0)
      try Data("x".utf8).write(to: URL(filePath: file))
      if let mode { try #require(chmod(file, mode_t(mode)) == 0) }
      let companion = Companion(
        database: delivery.companionDatabase,
        settings: Settings(
          keys: TestDelivery.keys, mailer: nil, sender: "s@example.org",
          auditLifetime: .seconds(86_400),
          interval: .seconds(30),
          secretFiles: mode == nil ? SecretFiles() : SecretFiles(files: [file])),
        log: Evidence.log(of: delivery.root.database))
      let lines = CheckReport(companion.check()).text.split(separator: "\n")
        .filter { $0.contains("files of secrets") || $0.contains("Anybody") }
      #expect(lines.count == (line == nil ? 0 : 1), "\(lines)")
      if let line { #expect(lines.first?.hasPrefix(line) == true, "\(lines)") }
    }
  }

  @Test(arguments: [
    (400, nil, "Apple answered 400 without a reason. The refusal is final."),
    (
      0, "timeout", "Apple did not answer (timeout). Check the way to api.push.apple.com, port 443."
    ),
    (
      0, nil,
      "Apple did not answer (without a reason). Check the way to api.push.apple.com, port 443."
    ),
  ])
  func aTestThatFailsIsExplained(status: Int64, reason: String?, words: String) {
    let result = DemoPushOutcome.TokenResult(
      ok: false, status: status, token: "t", apnsId: nil, reason: reason)
    #expect(PushService(behind: .apns).explanation(of: result) == "got nothing: \(words)")
  }

  @Test func aDeviceWithoutATokenHasNoneInTheList() throws {
    try withDelivery { delivery throws in
      let one = delivery.addDevice(String(repeating: "a", count: 64)).device
      let other = delivery.addDevice(String(repeating: "b", count: 64)).device
      delivery.sql("DELETE FROM push_tokens WHERE token LIKE 'b%'")
      let report = try #require(
        try AccountAdministration(records: delivery.records())
          .deviceReport(of: "ann@example.org", limit: 9))
      let tokens = Dictionary(
        uniqueKeysWithValues: try rows("devices", of: report).map {
          ($0["id"] as? String, $0["push_tokens"] as? [String])
        })
      #expect(tokens[one] == ["aaaaaaaaaaaaaaaa…"])
      #expect(tokens[other] == [])
    }
  }
}
