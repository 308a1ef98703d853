import Base
package import Cryptography
import QRCode
package import Store

/// Pairing of phones with the agent, for administrators at a terminal.
package struct PairingAdministration: Sendable {
  private let records: Records
  private let agent: GuardedAgent
  private let keys: Keyring

  /// - Parameter keys: keys that sign the tokens.
  package init(records: Records, agent: GuardedAgent, keys: Keyring) {
    self.records = records
    self.agent = agent
    self.keys = keys
  }

  private func info() throws -> PairingInfo {
    let issuer = PairingIssuer(keys: keys, randomBytes: randomBytes(PairingToken.idSize))
    return try records.pairingTokens.info(of: agent, issuer: issuer)
  }

  /// The answer of `GET /api/pair/info`.
  package func json() throws -> String {
    let info = try info()
    return String(decoding: JSONWriter.object { json in info.write(into: &json) }, as: UTF8.self)
  }

  /// The QR code and its facts, as the page shows them.
  package func text() throws -> String {
    let info = try info()
    var lines = [
      "WebSocket      \(agent.webSocketURL)", "HTTP           \(agent.publicURL)",
      "Session        \(info.session.prefix(8))...", "Repo           \(agent.repo)",
    ]
    if let token = info.token {
      lines += ["Auth Required", "Token expires  \(token.expiresAt.rfc3339)"]
    } else {
      lines.append("No Auth Required")
    }
    return try QRSymbol(info.qrContent).terminalText + "\n" + lines.joined(separator: "\n")
  }
}

/// Phones that may reach the agent, for administrators. Needs no keys.
package struct PairedPhones: Sendable {
  private let records: Records

  package init(records: Records) {
    self.records = records
  }

  /// The phones, the last used one first.
  package func list() throws -> Report {
    Report(
      Listing(
        "pairings", ["id", "paired_at", "last_used_at", "address", "name", "app"],
        of: try records.pairedDevices.list()
      ) { phone in
        [
          .text(phone.id), .time(phone.pairedAt), .time(phone.lastUsedAt), .text(phone.address),
          .text(phone.givenName), .text(phone.userAgent),
        ]
      })
  }

  /// Names a phone.
  ///
  /// - Parameter text: the name; empty removes it.
  /// - Returns: nil if no paired phone has this id.
  /// - Throws: ``BadArguments``, before anything is written.
  package func giveName(_ text: String, to id: String) throws -> Change? {
    guard let name = PhoneName(text) else { throw BadArguments(PhoneName.rule) }
    guard try records.pairedDevices.rename(id, to: name) else { return nil }
    return Change(
      isRehearsal: records.isRehearsal, "Renamed", or: "rename", "the paired phone \(id).")
  }

  /// Revokes a phone. Its next request is refused.
  ///
  /// - Returns: nil if no paired phone has this id.
  package func revoke(_ id: String) throws -> Change? {
    guard try records.pairedDevices.revoke(id) else { return nil }
    return Change(
      isRehearsal: records.isRehearsal, "Revoked", or: "revoke", "the paired phone \(id).")
  }
}
