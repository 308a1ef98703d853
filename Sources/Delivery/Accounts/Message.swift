package import Base
package import Store

/// Makes messages as they are mailed (RFC 5322, lines end with LF: sendmail's form).
package struct Message: Sendable {
  /// E-mail address in the From field.
  let sender: String
  /// Of the site, without a final slash; nil: no mail has a link.
  let publicURL: String?

  package init(sender: String, publicURL: String?) {
    precondition(!sender.hasControls, "an address holds no line end")
    self.sender = sender
    self.publicURL = publicURL
  }

  /// The message of `mail`. Nothing of it comes from the row but a code or a token, whose form is
  /// checked: whoever can write to the database must not be able to mail a text of their own.
  ///
  /// - Returns: nil where `secret` or the recipient has not the form that it must have.
  package func text(with secret: String, of mail: Mail, at now: Timestamp) -> [UInt8]? {
    guard Self.isAddress(mail.recipient) else { return nil }
    switch mail.kind {
    case .loginCode:
      guard secret.utf8.count == 6, secret.utf8.allSatisfy(\.isDigit) else { return nil }
      return message(
        to: mail, at: now, subject: "Your sign-in code",
        """
        Your sign-in code is \(secret)

        Type it in the app within five minutes. It works once, and on the device that asked for it.
        If you did not ask for it, you need not do anything: nobody can sign in without it.
        """)
    case .emailConfirmation:
      guard let publicURL, Self.isToken(secret) else { return nil }
      return message(
        to: mail, at: now, subject: "Is this you?",
        """
        Somebody has created an account with your e-mail address at
        \(publicURL)

        Please tell us whether it was you. This page shows on which phone, when and from where:
        \(publicURL)/account/confirm?token=\(secret)

        If it was not you, say so on that page: the account is then deleted.
        """)
    case .addressChange:
      guard let publicURL, Self.isToken(secret) else { return nil }
      return message(
        to: mail, at: now, subject: "Your new e-mail address",
        """
        Somebody wants to use this e-mail address for an account at
        \(publicURL)

        If it was you, say so on this page within a day:
        \(publicURL)/account/address?token=\(secret)

        If it was not you, you need not do anything: the address is not used then.
        """)
    case .addressChanged:
      guard let publicURL, secret.isEmpty else { return nil }
      return message(
        to: mail, at: now, subject: "Your account has a new e-mail address",
        """
        The account that you have at
        \(publicURL)
        has another e-mail address now. Codes and messages go there, and no more to this address.

        If it was not you, ask whoever runs this site for help at once.
        """)
    }
  }

  /// Whether `text` can stand in a link as it is.
  private static func isToken(_ text: String) -> Bool {
    text.utf8.count <= 200
      && text.utf8.allSatisfy { $0.isAlphanumeric || "-_.".utf8.contains($0) }
  }

  private func message(
    to mail: Mail, at now: Timestamp, subject: String, _ text: String
  ) -> [UInt8] {
    let domain = sender.split(separator: "@").last ?? "localhost"
    return Array(
      """
      Date: \(Self.date(now))
      From: <\(sender)>
      To: <\(mail.recipient)>
      Message-ID: <\(mail.id)@\(domain)>
      Subject: \(subject)
      Auto-Submitted: auto-generated
      MIME-Version: 1.0
      Content-Type: text/plain; charset=utf-8
      Content-Transfer-Encoding: 8bit

      \(text)

      """.utf8)
  }

  /// Whether `text` may stand between `<` and `>` in a header.
  private static func isAddress(_ text: String) -> Bool {
    text.contains("@") && !text.hasControls
      && !text.contains { $0.isWhitespace || $0 == "<" || $0 == ">" }
  }

  /// RFC 5322 §3.3, in UTC.
  private static func date(_ instant: Timestamp) -> String {
    let text = instant.rfc3339
    func part(_ from: Int, _ count: Int) -> Substring { text.dropFirst(from).prefix(count) }
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    let month = months[Int(part(5, 2))! - 1]
    return "\(part(8, 2)) \(month) \(part(0, 4)) \(part(11, 8)) +0000"
  }
}
