import Base
package import Cryptography
import QRCode
package import Store

/// The agent's phones, as administrators pair and manage them from a terminal.
package struct PairingDirectory: Sendable {
  private let records: Records
  private let agent: GuardedAgent
  private let keys: Keyring

  /// - Parameter keys: sign the tokens.
  package init(records: Records, agent: GuardedAgent, keys: Keyring) {
    self.records = records
    self.agent = agent
    self.keys = keys
  }

  private func info() throws -> PairingInfo {
    let issuer = PairingIssuer(keys: keys, randomBytes: randomBytes(PairingToken.idSize))
    return try records.pairingTokens.info(of: agent, issuer: issuer)
  }

  /// What `GET /api/pair/info` answers.
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

  /// The phones that may reach the agent, one per line, the last used one first.
  package func devices() throws -> String {
    let lines = try records.pairedDevices.list().map { device in
      [
        device.id, device.pairedAt.rfc3339, device.lastUsedAt.rfc3339,
        device.address.padded(to: 15), device.userAgent.printable,
      ].joined(separator: "  ")
    }
    let head =
      "ID".padded(to: 36) + "  PAIRED                LAST USED             ADDRESS          APP"
    return ([head] + lines).joined(separator: "\n")
  }

  /// Revokes a phone. It is refused from its next request on.
  ///
  /// - Returns: false where no paired phone has this id.
  package func revoke(_ id: String) throws -> Bool { try records.pairedDevices.revoke(id) }
}
