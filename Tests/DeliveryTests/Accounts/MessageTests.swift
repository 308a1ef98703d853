import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

@Suite struct MessageTests {
  private static let id = "01890a5d-ac96-774b-bcce-b302099a8057"

  /// The text of a mail; nil if this mail is never sent.
  private func text(
    _ kind: MailKind? = .loginCode, secret: String = "012345", in language: Language = .english,
    device: String = "Ann's iPhone (2)", address: String = "2001:db8::7",
    to recipient: String = "ann@example.org", from sender: String = "switchboard@example.org",
    named name: String = "Switchboard", at seconds: Int64 = 1_795_000_000,
    publicURL: String? = "https://example.org"
  ) -> String? {
    let content = MailContent(
      secret: secret, language: language, device: device, address: address,
      at: Timestamp(seconds: seconds - 60))
    return text(
      kind, opened: content.json, to: recipient, from: sender, named: name, at: seconds,
      publicURL: publicURL)
  }

  private func text(
    _ kind: MailKind?, opened: [UInt8], to recipient: String = "ann@example.org",
    from sender: String = "switchboard@example.org", named name: String = "Switchboard",
    at seconds: Int64 = 1_795_000_000, publicURL: String? = "https://example.org"
  ) -> String? {
    Message(sender: sender, named: name, publicURL: publicURL).text(
      with: opened, of: Mail(id: Self.id, kind: kind, recipient: recipient, sealed: ""),
      at: Timestamp(seconds: seconds)
    ).map { String(decoding: $0, as: UTF8.self) }
  }

  private func message(
    to recipient: String = "ann@example.org", from sender: String = "switchboard@example.org",
    at seconds: Int64 = 1_795_000_000
  ) throws -> String {
    try #require(text(to: recipient, from: sender, at: seconds))
  }

  @Test func theMailWithACodeIsWritten() throws {
    #expect(
      try message() == """
        Date: 18 Nov 2026 11:06:40 +0000
        From: "Switchboard" <switchboard@example.org>
        To: <ann@example.org>
        Message-ID: <01890a5d-ac96-774b-bcce-b302099a8057@example.org>
        Subject: Your sign-in code
        Auto-Submitted: auto-generated
        MIME-Version: 1.0
        Content-Type: text/plain; charset=utf-8
        Content-Transfer-Encoding: 8bit

        Your sign-in code is 012345

        Type it where you asked for it, within five minutes. It works once, and only there. If you did \
        not ask for it, you need not do anything: nobody can sign in without it.

        Device: Ann's iPhone (2)
        From: 2001:db8::7
        When: 2026-11-18 11:05 UTC

        Switchboard
        https://example.org

        """)
  }

  @Test(arguments: Language.allCases)
  func eachLanguageHasAllMails(language: Language) throws {
    for kind in MailKind.allCases {
      let secret =
        switch kind {
        case .loginCode: "012345"
        case .refreshReused, .addressChanged, .accountDeleted, .accountBanned, .accountUnbanned: ""
        default: "0190-ab.c_D-1"
        }
      let mail = try #require(text(kind, secret: secret, in: language))
      let english = try #require(text(kind, secret: secret))
      #expect((mail == english) == (language == .english))
      let parts = mail.split(separator: "\n\n", maxSplits: 1)
      #expect(parts[0].utf8.allSatisfy { $0 < 0x80 })
      for line in mail.split(separator: "\n") { #expect(line.utf8.count <= 998) }
      for line in parts[0].split(separator: "\n") { #expect(line.utf8.count <= 76) }
      #expect(mail.contains(secret.isEmpty ? "2001:db8::7" : secret))
    }
  }

  @Test func aSubjectBeyondASCIIIsReadBack() throws {
    let mail = try #require(text(.newDevice, secret: "a.b", in: .persian, named: "پیام"))
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try Data(mail.utf8).write(to: folder)
    defer { try? FileManager.default.removeItem(at: folder) }
    let script = """
      import email, email.policy, sys
      m = email.message_from_binary_file(open(sys.argv[1], "rb"), policy=email.policy.default)
      print(m["subject"]); print(m["from"].addresses[0].display_name); print(m["from"].addresses[0].addr_spec)
      """
    let read = runProgram("python3", ["-c", script, folder.path()])
    #expect(
      read.output
        == "حساب شما در دستگاهی تازه استفاده می‌شود\nپیام\nswitchboard@example.org\n")
  }

  @Test func aNameWithMarksIsQuoted() throws {
    let mail = try #require(text(named: #"Ann "A\" <Co>"#))
    #expect(mail.contains(#"\#nFrom: "Ann \"A\\\" <Co>" <switchboard@example.org>\#n"#))
  }

  /// A stranger may choose the device's name, so the name must not contain a link or a sentence of
  /// ours.
  @Test func theDevicesNameIsHarmless() throws {
    let name =
      "Visit https://evil.example/x?y=1 now, or call <b>0800</b> at once and ask for the boss"
    let mail = try #require(text(device: name))
    #expect(mail.contains("\nDevice: Visit https evil example x y 1 now or\n"))
  }

  @Test(arguments: ["", "<b>", "evil.example", "1.2.3.4\n5"])
  func anAddressThatIsNoneIsLeftOut(address: String) throws {
    let body = try #require(text(address: address)).split(separator: "\n\n", maxSplits: 1).last
    #expect(body?.contains("From:") == false)
  }

  @Test func aKindThatIsNotKnownIsNotMailed() {
    #expect(text(nil) == nil)
  }

  @Test func aMailAboutASessionHasTheLinkThatEndsIt() throws {
    for kind in [MailKind.newDevice, .passkeyAdded, .biometricKeyAdded, .deviceRenewed] {
      let mail = try #require(text(kind, secret: "s.p.m"))
      #expect(mail.contains("\nhttps://example.org/account/end?token=s.p.m\n"))
      #expect(text(kind, secret: "s.p.m", publicURL: nil) == nil)
      #expect(text(kind, secret: "") == nil)
    }
    #expect(text(.refreshReused, secret: "")?.contains("account/end") == false)
  }

  @Test(arguments: [
    (60, "1 Jan 1970 00:01:00"), (951_782_400, "29 Feb 2000 00:00:00"),
    (1_704_067_199, "31 Dec 2023 23:59:59"), (4_107_542_400, "1 Mar 2100 00:00:00"),
  ])
  func theDateIsThatOfTheInternetsMessages(seconds: Int64, date: String) throws {
    let line = try #require(try message(at: seconds).split(separator: "\n").first)
    let written = line.replacing("Date: 0", with: "Date: ")
    #expect(written == "Date: \(date) +0000")
  }

  @Test func allDatesOfAYearAreReadBack() throws {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.dateFormat = "dd MMM yyyy HH:mm:ss Z"
    for day in 0..<366 {
      let seconds = Int64(1_704_067_200 + day * 86_400 + day * 61)
      let line = try #require(try message(at: seconds).split(separator: "\n").first)
      let date = try #require(formatter.date(from: String(line.dropFirst("Date: ".count))))
      #expect(date == Date(timeIntervalSince1970: Double(seconds)))
    }
  }

  @Test func theIDIsOfTheSendersDomain() throws {
    #expect(
      try message(from: "a@b.example").contains(
        "\nMessage-ID: <01890a5d-ac96-774b-bcce-b302099a8057@b.example>\n"))
  }

  @Test func noLineIsLongerThanAMailMayHave() throws {
    let long = String(repeating: "a", count: 242) + "@example.org"
    for line in try message(to: long).split(separator: "\n") { #expect(line.utf8.count <= 998) }
  }

  @Test(arguments: Language.allCases)
  func aCodeThatHandsTheAccountOverSaysWhichPhoneItSignsOut(language: Language) throws {
    func body(_ handsOver: Bool) throws -> String {
      let content = MailContent(
        secret: "012345", language: language, device: "", address: "", at: Timestamp(seconds: 0),
        handsOver: handsOver)
      return try #require(text(.loginCode, opened: content.json))
    }
    let warning = MailTexts(in: language).handsOver
    #expect(try body(true).contains("\n\n\(warning)\n\n"))
    #expect(try !body(false).contains(warning))
    #expect(try body(true).replacing("\(warning)\n\n", with: "") == body(false))
  }

  @Test func theMailThatAsksForAConfirmationHasItsLink() throws {
    let mail = try #require(text(.emailConfirmation, secret: "0190-ab.c_D-1"))
    #expect(mail.contains("\nSubject: Is this you?\n"))
    #expect(mail.contains("\nhttps://example.org/account/confirm?token=0190-ab.c_D-1\n"))
    #expect(text(.emailConfirmation, secret: "0190-ab.c_D-1", publicURL: nil) == nil)
  }

  @Test func theMailToANewAddressHasItsLink() throws {
    let mail = try #require(text(.addressChange, secret: "ab_C-1"))
    #expect(mail.contains("\nSubject: Your new e-mail address\n"))
    #expect(mail.contains("\nhttps://example.org/account/address?token=ab_C-1\n"))
    #expect(text(.addressChange, secret: "ab_C-1", publicURL: nil) == nil)
  }

  @Test func theMailToTheOldAddressHasNoLinkBeyondTheSite() throws {
    let mail = try #require(text(.addressChanged, secret: ""))
    #expect(mail.contains("\nSubject: Your account has a new e-mail address\n"))
    #expect(!mail.contains("token"))
  }

  /// An attacker who can write rows cannot mail own text.
  @Test(arguments: [
    (MailKind.loginCode, "01234"), (.loginCode, "0123456"), (.loginCode, "01234a"),
    (.loginCode, ""),
    (.loginCode, "Visit https://evil.example"), (.emailConfirmation, "a b"),
    (.emailConfirmation, "a\nb"), (.emailConfirmation, "a/../b"),
    (.emailConfirmation, String(repeating: "a", count: 201)), (.addressChange, "a b"),
    (.addressChange, String(repeating: "a", count: 201)), (.addressChanged, "x"),
  ])
  func aSecretOfAnotherFormIsNotMailed(kind: MailKind, secret: String) {
    #expect(text(kind, secret: secret) == nil)
  }

  @Test(arguments: [
    "ann@example.org>\nBcc: <bob@example.org", "ann@example.org> <bob@example.org", "", "ann",
    "ann@example.org bob@example.org", "ann@example.org\r", "änn@example.org", "ann@exämple.org",
  ])
  func aRecipientThatIsNoAddressGetsNothing(recipient: String) {
    #expect(text(to: recipient) == nil)
  }

  @Test func aSenderThatEndsItsLineStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      _ = Message(sender: "a@b\r\nBcc: x", publicURL: nil)
    }
  }
}
