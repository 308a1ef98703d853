import Foundation
import Support
import Testing

@testable import Delivery

/// `switchboard test-mail`.
@Suite(.serialized) struct TestMailTests {
  private func run(
    _ delivery: TestDelivery, _ arguments: String, command: String? = nil
  ) throws -> RunningCompanion {
    try RunningCompanion(
      delivery, "test-mail \(arguments)",
      changing: command.map { ["SWITCHBOARD_MAIL_COMMAND": $0] } ?? [:])
  }

  @Test func aMailIsSentAtOnceByTheConfiguredWay() throws {
    try withFolder { delivery throws in
      let command = try delivery.script("cat >\(delivery.folder)/mail")
      let tried = try run(delivery, "ann@example.org", command: command)
      try tried.end(expecting: 0)
      #expect(
        tried.output
          == "The mail to ann@example.org was sent by \(command). Look whether it arrives.\n")
      let mail = try delivery.text("mail")
      #expect(mail.contains("\nTo: <ann@example.org>\n"))
      #expect(mail.contains("\n\nThis is a test. Mails from this site arrive.\n\nSwitchboard\n"))
    }
  }

  @Test func aMailThatIsNotSentIsExplained() throws {
    try withFolder { delivery throws in
      let command = try delivery.script("cat >/dev/null; exit 75")
      let tried = try run(delivery, "ann@example.org --json", command: command)
      try tried.end(expecting: 1)
      #expect(
        tried.output
          == #"{"recipient":"ann@example.org","accepted":false,"sentence":"The mail to ann@example.org was not "#
          + "sent by \(command): the mail command ended with status 75.\"}\n")
      let nobody = try run(delivery, "nobody", command: command)
      try nobody.end(expecting: 64)
      #expect(nobody.log.contains("Give an e-mail address in ASCII, such as ann@example.org."))
    }
  }

  @Test func aDryRunSendsNothing() throws {
    try withFolder { delivery throws in
      let tried = try run(delivery, "ann@example.org --dry-run")
      try tried.end(expecting: 0)
      #expect(
        tried.output == "The mail to ann@example.org would go a file in \(delivery.folder)/mails.\n"
      )
      #expect(try !delivery.files.contains("mails"))
    }
  }
}
