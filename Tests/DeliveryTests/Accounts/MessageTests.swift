import Base
import Foundation
import Store
import Testing

@testable import Delivery

@Suite struct MessageTests {
  private func message(
    code: String = "012345", to recipient: String = "ann@example.org",
    from sender: String = "switchboard@example.org", at seconds: Int64 = 1_795_000_000
  ) -> String {
    String(
      decoding: Message.loginCode(
        code, to: recipient, from: sender, id: "01890a5d-ac96-774b-bcce-b302099a8057",
        at: Timestamp(seconds: seconds)), as: UTF8.self)
  }

  @Test func theMailWithACodeIsWritten() {
    #expect(
      message() == """
        Date: 18 Nov 2026 11:06:40 +0000
        From: <switchboard@example.org>
        To: <ann@example.org>
        Message-ID: <01890a5d-ac96-774b-bcce-b302099a8057@example.org>
        Subject: Your sign-in code
        Auto-Submitted: auto-generated
        MIME-Version: 1.0
        Content-Type: text/plain; charset=utf-8
        Content-Transfer-Encoding: 8bit

        Your sign-in code is 012345

        Type it in the app within five minutes. It works once, and on the device that asked for it.
        If you did not ask for it, you need not do anything: nobody can sign in without it.

        """)
  }

  @Test(arguments: [
    (0, "1 Jan 1970 00:00:00"), (951_782_400, "29 Feb 2000 00:00:00"),
    (1_704_067_199, "31 Dec 2023 23:59:59"), (4_107_542_400, "1 Mar 2100 00:00:00"),
  ])
  func theDateIsThatOfTheInternetsMessages(seconds: Int64, date: String) throws {
    let line = try #require(message(at: seconds).split(separator: "\n").first)
    let written = line.replacing("Date: 0", with: "Date: ")
    #expect(written == "Date: \(date) +0000")
  }

  @Test func allDatesOfAYearAreReadBack() throws {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.dateFormat = "dd MMM yyyy HH:mm:ss Z"
    for day in 0..<366 {
      let seconds = Int64(1_704_067_200 + day * 86_400 + day * 61)
      let line = try #require(message(at: seconds).split(separator: "\n").first)
      let date = try #require(formatter.date(from: String(line.dropFirst("Date: ".count))))
      #expect(date == Date(timeIntervalSince1970: Double(seconds)))
    }
  }

  @Test func theIDIsOfTheSendersDomain() {
    #expect(
      message(from: "a@b.example").contains(
        "\nMessage-ID: <01890a5d-ac96-774b-bcce-b302099a8057@b.example>\n"))
  }

  @Test func noLineIsLongerThanAMailMayHave() {
    let long = String(repeating: "a", count: 242) + "@example.org"
    for line in message(to: long).split(separator: "\n") { #expect(line.utf8.count <= 998) }
  }

  @Test func anAddressBeyondASCIIIsWrittenAsItIs() {
    #expect(message(to: "änn@exämple.org").contains("\nTo: <änn@exämple.org>\n"))
  }

  @Test func anAddressThatEndsItsLineStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      _ = Message.loginCode(
        "1", to: "ann@example.org>\nBcc: <bob@example.org", from: "a@b", id: "i",
        at: Timestamp(seconds: 0))
    }
    await #expect(processExitsWith: .failure) {
      _ = Message.loginCode(
        "1", to: "ann@example.org", from: "a@b\r\nBcc: x", id: "i", at: Timestamp(seconds: 0))
    }
  }
}
