import Base
import Store

/// Push that tells an owner at once about the event of a mail.
enum SecurityMailPush {
  /// - Returns: nil for kinds of mail without a push: the mail holds a secret, goes to an unproven
  ///   or former address of the account, or its account has no signed-in device.
  static func announcement(with opened: [UInt8], of mail: Mail) -> NotificationContent? {
    guard let content = MailContent(json: opened) else { return nil }
    let texts = MailTexts(in: content.language)
    let text: MailTexts.Text
    switch mail.kind {
    case .newDevice: text = texts.newDevice
    case .passkeyAdded: text = texts.passkeyAdded
    case .biometricKeyAdded: text = texts.biometricKeyAdded
    case .deviceRenewed: text = texts.deviceRenewed
    case .refreshReused: text = texts.refreshReused
    case .browserSignedIn: text = texts.browserSignedIn
    case .keysRemoved: text = texts.keysRemoved
    case .addressChangeBegun: text = texts.addressChangeBegun
    case .loginCode, .emailConfirmation, .addressChange, .addressChanged, .accountDeleted,
      .accountBanned, .accountUnbanned, .addressProven, nil:
      return nil
    }
    return NotificationContent(
      title: text.subject, body: text.body, sound: "default", collapseID: mail.id)
  }
}
