package import Base
package import Cryptography

/// What the responder tells the companion for one mail, sealed.
package struct MailContent: Sendable, Equatable {
  /// A code, or the token of a link; empty where the mail has neither.
  package var secret: String
  package var language: Language
  /// Name of the device that caused the mail, as it calls itself; empty where none did.
  package var device: String
  /// Address of the caller that caused the mail.
  package var address: String
  package var at: Timestamp

  package init(
    secret: String, language: Language, device: String, address: String, at: Timestamp
  ) {
    self.secret = secret
    self.language = language
    self.device = device
    self.address = address
    self.at = at
  }

  /// - Returns: nil where `bytes` are none that ``json`` makes.
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
      let device = texts["device"], let address = texts["address"], let milliseconds
    else { return nil }
    self.init(
      secret: secret, language: language, device: device, address: address,
      at: Timestamp(milliseconds: milliseconds))
  }

  package var json: [UInt8] {
    JSONWriter.object { json in
      json.member("secret", secret)
      json.member("language", language.rawValue)
      json.member("device", device)
      json.member("address", address)
      json.member("at", at.milliseconds)
    }
  }
}

/// The keys that the responder needs for mails.
package struct MailKeys: Sendable {
  /// Seal what only the companion may read.
  let sealing: Keyring
  /// Sign the links.
  let links: Keyring

  package init(sealing: Keyring, links: Keyring) {
    self.sealing = sealing
    self.links = links
  }
}

/// The token of a link in a mail: what the link is about, and a MAC of it, so that nothing is kept.
package enum LinkToken {
  package enum Purpose: String, Sendable {
    /// Of an account's id.
    case confirmation = "e-mail confirmation"
    /// Of a session's id, and of the id of the passkey that it added or nothing.
    case ending = "end of a session"
  }

  package static func make(
    for purpose: Purpose, of parts: [String], with key: Key
  ) -> String {
    (parts + [mac(purpose, parts, key)]).joined(separator: ".")
  }

  /// What the token is about; it may have gone since.
  ///
  /// - Returns: nil where the token is not one of ours for `purpose`.
  package static func parts(
    of token: String, for purpose: Purpose, signedWith keys: Keyring
  ) -> [String]? {
    var parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let given = Array(parts.removeLast().utf8)
    let isOurs = keys.keys.contains {
      isEqualInConstantTime(Array(mac(purpose, parts, $0).utf8), given)
    }
    return isOurs ? parts : nil
  }

  private static func mac(_ purpose: Purpose, _ parts: [String], _ key: Key) -> String {
    base64URLEncoded(
      hmacSHA256(([purpose.rawValue] + parts).joined(separator: "\n"), with: key))
  }
}
