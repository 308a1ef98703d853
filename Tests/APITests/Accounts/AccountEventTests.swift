import Base
import Foundation
import Support
import Testing

@testable import API

/// The list "What happened" at `/account`: each audit event of an account has a sentence.
@Suite struct AccountEventTests {
  /// Events without an account. Only administrators see their rows.
  private static let withoutAccount: Set = [
    "api_key_issued", "api_key_revoked", "attestation_refused", "bank_connected",
    "bank_disconnected", "exchange_refused", "key_attested", "limit_lifted", "master_key_refused",
    "merchant_added", "merchant_changed", "merchant_revoked", "message_discarded",
    "message_retried", "models_changed",
    "pairing_ended", "payment_requested", "pairing_tokens_revoked", "phone_paired", "phone_renamed",
    "restored",
    "turns_registered", "turns_unregistered", "turns_user_deleted",
    "webhook_resent", "webhook_secret_rotated",
  ]

  /// The whole source text of Store.
  private static func source() throws -> String {
    let folder = projectFolder.appending(path: "Sources/Store")
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    return try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
      .map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
  }

  /// The name of each event in the audit log, by its Swift name in Store.
  private static func events(in source: String) -> [String: String] {
    let declarations = source.matches(
      of: /static let (\w+) = AuditEvent(?:\.refusal)?\("(\w+)"\)/)
    return Dictionary(
      declarations.map { (String($0.1), String($0.2)) }, uniquingKeysWith: { one, _ in one })
  }

  @Test func everyEventThatAnAccountMayHaveHasASentence() throws {
    let words = Set(Self.events(in: try Self.source()).values)
    #expect(words.count > 60)
    #expect(
      words.subtracting(Self.withoutAccount) == Set(AccountEvent.allCases.map(\.rawValue)))
    #expect(Self.withoutAccount.isSubset(of: words))
  }

  @Test func theEventsForAdministratorsHaveNoAccount() throws {
    let source = try Self.source()
    for (name, word) in Self.events(in: source) where Self.withoutAccount.contains(word) {
      let writes = source.matches(of: try Regex(#"audit\.write\(\s*\.\#(name)\b[^)]*account:"#))
      #expect(writes.isEmpty, "\(word)")
    }
  }

  @Test(arguments: Language.allCases)
  func thePageTellsWhatHappenedAndNothingMeantForAdministrators(language: Language) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let texts = EventTexts(in: language)
      var visitor = PageVisitor(site, language: language.rawValue)
      _ = try visitor.signIn()
      let events = AccountEvent.allCases.map(\.rawValue) + ["an_event_of_tomorrow"]
      let expected = Set(AccountEvent.allCases.map { texts.sentence($0) } + [texts.other])
      var (told, secrets, reasons): (Set<String>, Int, Int) = ([], 0, 0)
      // A page shows at most 50 events.
      for start in stride(from: 0, to: events.count, by: 20) {
        site.sql("DELETE FROM audit_log")
        for event in events[start...].prefix(20) {
          site.sql(
            """
            INSERT INTO audit_log (at, event, account_id, request_id, address, detail)
            VALUES (UTC_TIMESTAMP(3), '\(event)', '\(ann.accountID)', '', '', 'secret of administrators')
            """)
        }
        let page = visitor.open().text
        told.formUnion(page.matches(of: /<h3[^>]*>(.*?)<\/h3>/).map { String($0.1) })
        secrets += page.components(separatedBy: "secret of administrators").count - 1
        reasons += page.components(separatedBy: texts.reason).count - 1
        let names = events.filter { $0.hasSuffix("_of_tomorrow") && page.contains($0) }
        #expect(names == [])
      }
      #expect(expected.subtracting(told) == [])
      #expect(secrets == 2, "only the reasons of the ban and of its end")
      #expect(reasons == 2)
    }
  }

  @Test(
    arguments: [
      ("account_deleted", "by an administrator: spam", "administrator"),
      ("logout", "by an administrator", "administrator"),
      ("logout", "all devices, by an administrator", "administrator"),
      ("logout", "all browsers, by the link in a mail", "link"),
      ("device_revoked", "by the link in a mail", "link"),
      ("logout", "a browser, on the account page", "browser"),
      ("logout", "one session, on the account page", "browser"),
      ("sign_in", "account page, passkey", "browser"),
    ])
  func whoDidItIsTold(event: String, detail: String, who: String) throws {
    let source = try Self.source()
    // Store still writes this detail.
    let written = detail.replacing(": spam", with: ": ")
    #expect(source.contains("\"\(written)"), "\(detail)")
    for language in Language.allCases {
      let texts = EventTexts(in: language)
      let told = [
        "administrator": texts.byAdministrator, "link": texts.byLink, "browser": texts.inBrowser,
      ]
      #expect(texts.circumstance(of: event, detail: detail) == told[who])
    }
  }

  @Test func theReasonOfABanIsText() {
    #expect(
      EventTexts.english.circumstance(of: "account_banned", detail: "<b>spam")
        == "Reason: <bdi>&lt;b&gt;spam</bdi>")
    #expect(EventTexts.english.circumstance(of: "account_banned", detail: "") == "")
  }
}
