package import Base
import Cryptography

/// The content of the QR code, the page and the terminal.
package struct PairingInfo: Sendable {
  package let agent: GuardedAgent
  /// The UUID by which the apps know this site.
  package let session: String
  /// nil if no authentication is required.
  package let token: SignedPairingToken?
  /// Six digits that stand for the token; nil if there is no token.
  package let code: String?

  /// The members of the answer to `GET /api/pair/info`.
  package func write(into json: inout JSONWriter) {
    json.member("ws", agent.webSocketURL)
    json.member("http", agent.publicURL)
    json.member("session", session)
    json.member("repo", agent.repo)
    guard let token else { return }
    json.member("token", token.text)
    json.member("token_expires_at", token.expiresAt.rfc3339)
  }

  /// The content of the QR code: JSON, its members sorted by name.
  ///
  /// It is all ASCII, because readers guess how other characters are encoded.
  package var qrContent: [UInt8] {
    let json = JSONWriter.object { json in
      json.member("http", agent.publicURL)
      json.member("repo", agent.repo)
      json.member("session", session)
      if let token { json.member("token", token.text) }
      json.member("ws", agent.webSocketURL)
    }
    return String(decoding: json, as: UTF8.self).utf16.flatMap { unit -> [UInt8] in
      if unit < 0x7f { return [UInt8(unit)] }
      let bytes = [UInt8(unit >> 8), UInt8(unit & 0xff)]
      return Array("\\u\(hexEncoded(bytes))".utf8)
    }
  }
}
