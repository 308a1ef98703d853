package import Base
package import Store

/// Makes mail messages (RFC 5322; lines end with LF, as sendmail expects).
package struct Message: Sendable {
  /// E-mail address in the From field, in ASCII.
  let sender: String
  /// Name in the From field before the address, and in the signature.
  let senderName: String
  /// URL of the site without a final slash; nil if mails cannot have links.
  let publicURL: String?

  package init(sender: String, named senderName: String = "Switchboard", publicURL: String?) {
    precondition(!sender.hasControls && !senderName.hasControls, "a header holds no line end")
    self.sender = sender
    self.senderName = senderName
    self.publicURL = publicURL
  }

  /// The message of `mail`. Checks each value from the row, so that an attacker who can write to
  /// the database cannot mail a text of their own.
  ///
  /// - Parameter opened: a ``MailContent``.
  /// - Returns: nil if `opened` or the recipient is malformed.
  package func text(with opened: [UInt8], of mail: Mail, at now: Timestamp) -> [UInt8]? {
    guard Self.isAddress(mail.recipient), let kind = mail.kind,
      let content = MailContent(json: opened)
    else { return nil }
    let texts = MailTexts(in: content.language)
    guard let (text, parts) = parts(of: kind, content, texts) else { return nil }
    let all = parts + [Self.circumstances(of: content, texts), signature]
    return written(
      to: mail, at: now, subject: text.subject,
      all.filter { !$0.isEmpty }.joined(separator: "\n\n"))
  }

  /// A test message.
  ///
  /// - Returns: nil if the recipient is malformed.
  package func test(to recipient: String, named id: String, at now: Timestamp) -> [UInt8]? {
    guard Self.isAddress(recipient) else { return nil }
    return written(
      to: Mail(id: id, kind: nil, recipient: recipient, sealed: ""), at: now, subject: "Test",
      "This is a test. Mails from this site arrive.\n\n\(signature)")
  }

  /// - Returns: nil if the secret is malformed for this kind of mail.
  private func parts(
    of kind: MailKind, _ content: MailContent, _ texts: MailTexts
  ) -> (MailTexts.Text, [String])? {
    switch kind {
    case .loginCode:
      guard content.secret.utf8.count == 6, content.secret.utf8.allSatisfy(\.isDigit) else {
        return nil
      }
      let warning = content.handsOver ? texts.handsOver : ""
      let code = "\(texts.codeIs) \(content.secret)"
      return (texts.loginCode, [code, texts.loginCode.body, warning])
    case .emailConfirmation:
      guard let link = link("confirm", content.secret) else { return nil }
      return (texts.confirmation, [texts.confirmation.body, link])
    case .newDevice: return notice(texts.newDevice, content, texts)
    case .passkeyAdded: return notice(texts.passkeyAdded, content, texts)
    case .biometricKeyAdded: return notice(texts.biometricKeyAdded, content, texts)
    case .deviceRenewed: return notice(texts.deviceRenewed, content, texts)
    case .browserSignedIn: return notice(texts.browserSignedIn, content, texts)
    case .keysRemoved:
      return content.secret.isEmpty
        ? plain(texts.keysRemoved, content) : notice(texts.keysRemoved, content, texts)
    case .refreshReused: return plain(texts.refreshReused, content)
    case .addressChange:
      guard let link = link("address", content.secret) else { return nil }
      return (texts.addressChange, [texts.addressChange.body, link])
    case .addressProven:
      guard let link = link("end", content.secret) else { return nil }
      return (
        texts.addressProven,
        [
          texts.addressProven.body, Self.list(of: content.access, texts),
          "\(texts.removeAll)\n\(link)",
        ]
      )
    case .addressChangeBegun: return notice(texts.addressChangeBegun, content, texts)
    case .addressChanged: return plain(texts.addressChanged, content)
    case .accountDeleted: return plain(texts.accountDeleted, content)
    case .accountBanned: return plain(texts.accountBanned, content)
    case .accountUnbanned: return plain(texts.accountUnbanned, content)
    }
  }

  private func plain(
    _ text: MailTexts.Text, _ content: MailContent
  ) -> (MailTexts.Text, [String])? {
    content.secret.isEmpty ? (text, [text.body]) : nil
  }

  private func notice(
    _ text: MailTexts.Text, _ content: MailContent, _ texts: MailTexts
  ) -> (MailTexts.Text, [String])? {
    guard let link = link("end", content.secret) else { return nil }
    return (text, [text.body, "\(texts.ifItWasNotYou)\n\(link)"])
  }

  /// - Returns: nil if the token is malformed or the site's URL is not configured.
  private func link(_ page: String, _ token: String) -> String? {
    guard let publicURL, (1...200).contains(token.utf8.count),
      token.utf8.allSatisfy({ $0.isAlphanumeric || "-_.".utf8.contains($0) })
    else { return nil }
    return "\(publicURL)/account/\(page)?token=\(token)"
  }

  /// Device, address and time of the cause of the mail, as far as they are known.
  private static func circumstances(of content: MailContent, _ texts: MailTexts) -> String {
    let isAddress = content.address.utf8.allSatisfy {
      $0.hexDigitValue != nil || ".:".utf8.contains($0)
    }
    let device = content.device.harmless
    let lines = [
      device.isEmpty ? nil : "\(texts.device): \(device)",
      content.address.isEmpty || !isAddress ? nil : "\(texts.address): \(content.address)",
    ].compactMap { $0 }
    return lines.isEmpty
      ? "" : (lines + ["\(texts.time): \(minute(content.at))"]).joined(separator: "\n")
  }

  private static func list(of access: [MailContent.Access], _ texts: MailTexts) -> String {
    access.map { item in
      let label =
        switch item.kind {
        case .device: texts.device
        case .biometricKey: texts.biometricKey
        case .passkey: texts.passkey
        }
      return "\(label): \(minute(item.since))"
    }.joined(separator: "\n")
  }

  private static func minute(_ instant: Timestamp) -> String {
    "\(instant.rfc3339.prefix(16).replacing("T", with: " ")) UTC"
  }

  private var signature: String {
    publicURL.map { "\(senderName)\n\($0)" } ?? senderName
  }

  private func written(
    to mail: Mail, at now: Timestamp, subject: String, _ text: String
  ) -> [UInt8] {
    let domain = sender.split(separator: "@").last ?? "localhost"
    return Array(
      """
      Date: \(MailHeader.dateField(now))
      From: \(MailHeader.phrase(senderName)) <\(sender)>
      To: <\(mail.recipient)>
      Message-ID: <\(mail.id)@\(domain)>
      Subject: \(MailHeader.text(subject))
      Auto-Submitted: auto-generated
      MIME-Version: 1.0
      Content-Type: text/plain; charset=utf-8
      Content-Transfer-Encoding: 8bit

      \(text)

      """.utf8)
  }

  /// Whether `text` may stand between `<` and `>` in a header.
  package static func isAddress(_ text: String) -> Bool {
    text.contains("@") && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
      && !text.contains { $0 == "<" || $0 == ">" }
  }
}

extension String {
  /// At most 40 letters, digits, blanks, apostrophes, hyphens and parentheses, so that a name
  /// chosen by an attacker cannot look like a link or like our own text.
  fileprivate var harmless: String {
    let plain = unicodeScalars.map { scalar -> Character in
      let isPlain =
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        || " '’-()".unicodeScalars.contains(scalar)
      return isPlain ? Character(scalar) : " "
    }
    return String(plain.split(separator: " ").joined(separator: " ").prefix(40))
  }
}
