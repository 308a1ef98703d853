package import Base

/// The sealed data of one mail, from the responder to the companion.
package struct MailContent: Sendable, Equatable {
  /// A code, or the token of a link; empty if the mail has neither.
  package var secret: String
  package var language: Language
  /// Name of the device that caused the mail, by its own description, at most 40 characters: the
  /// sealed value must fit into the outbox. Empty if no device caused it.
  package var device: String
  /// Address of the caller that caused the mail.
  package var address: String
  package var at: Timestamp
  /// Whether the code hands the account over to the person who types it, see ``AddressProofs``.
  package var handsOver: Bool
  /// What opens the account, without names, which whoever added it has chosen. At most 30: the sealed value must fit.
  package var access: [Access]

  package struct Access: Sendable, Equatable {
    package let kind: AccountAccess.Kind
    package let since: Timestamp

    package init(kind: AccountAccess.Kind, since: Timestamp) {
      self.kind = kind
      self.since = since
    }
  }

  package init(
    secret: String, language: Language, device: String, address: String, at: Timestamp,
    handsOver: Bool = false, access: [Access] = []
  ) {
    self.secret = secret
    self.language = language
    self.device = device.cut(to: 40)
    self.address = address
    self.at = at
    self.handsOver = handsOver
    self.access = Array(access.prefix(30))
  }

  /// - Returns: nil unless `bytes` have the form that ``json`` makes.
  package init?(json bytes: [UInt8]) {
    var texts: [String: String] = [:]
    var milliseconds: Int64?
    var reader = JSONReader(bytes)
    do {
      try reader.object { name, reader in
        if name == "at" {
          milliseconds = try reader.integer()
        } else {
          texts[name] = try reader.string()
        }
      }
      try reader.end()
    } catch {
      return nil
    }
    guard let secret = texts["secret"], let language = Language(rawValue: texts["language"] ?? ""),
      let device = texts["device"], let address = texts["address"],
      let at = milliseconds.flatMap({ Timestamp(givenMilliseconds: $0) })
    else { return nil }
    let items = (texts["access"] ?? "").split(separator: ",")
    let access = items.compactMap { Access(String($0)) }
    guard access.count == items.count else { return nil }
    self.init(
      secret: secret, language: language, device: device, address: address,
      at: at, handsOver: texts["handsOver"] == "yes", access: access)
  }

  package var json: [UInt8] {
    JSONWriter.object { json in
      json.member("secret", secret)
      json.member("language", language.rawValue)
      json.member("device", device)
      json.member("address", address)
      json.member("at", at.milliseconds)
      if handsOver { json.member("handsOver", "yes") }
      if !access.isEmpty { json.member("access", access.map(\.text).joined(separator: ",")) }
    }
  }
}

extension MailContent.Access {
  /// A word and the milliseconds, with a blank between.
  fileprivate var text: String { "\(kind.rawValue) \(since.milliseconds)" }

  fileprivate init?(_ text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 2, let kind = AccountAccess.Kind(rawValue: String(parts[0])),
      let since = Int64(parts[1]).flatMap({ Timestamp(givenMilliseconds: $0) })
    else { return nil }
    self.init(kind: kind, since: since)
  }
}
