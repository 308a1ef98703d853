package import Base
import Cryptography
package import Delivery
import Store

/// Result of a test mail.
package struct TestMailResult: Sendable {
  package let isAccepted: Bool
  /// Result in a whole sentence.
  package let sentence: String

  /// Whether `recipient` is an e-mail address in ASCII.
  package static func isAddress(_ recipient: String) -> Bool { Message.isAddress(recipient) }
}

extension Companion {
  /// Describes in a sentence how a mail would be sent now.
  package func describeTestMail(to recipient: String) -> String {
    "The mail to \(recipient.printable) would go \(settings.mailRoute)."
  }

  /// Sends a test mail now.
  package func testMail(to recipient: String, at now: Timestamp) -> TestMailResult {
    let message = Message(
      sender: settings.sender, named: settings.senderName, publicURL: settings.publicURL)
    let id = timeOrderedUUID(milliseconds: now.milliseconds)
    guard let text = message.test(to: recipient, named: id, at: now) else {
      return TestMailResult(
        isAccepted: false, sentence: "\(recipient.printable) is not an e-mail address in ASCII.")
    }
    guard let mailer = settings.mailer else {
      return TestMailResult(
        isAccepted: false, sentence: "The mail was not sent: set SWITCHBOARD_MAIL_COMMAND.")
    }
    switch mailer.send(text, named: id) {
    case .delivered:
      return TestMailResult(
        isAccepted: true,
        sentence:
          "The mail to \(recipient) was sent \(settings.mailRoute). Look whether it arrives.")
    case .failed(let reason), .dead(let reason):
      return TestMailResult(
        isAccepted: false,
        sentence: "The mail to \(recipient) was not sent \(settings.mailRoute): \(reason).")
    }
  }
}
