package import Base
package import Cryptography
import QRCode
package import Store

/// Where an administrator pairs phones from a terminal.
package struct PairingDesk: Sendable {
  private let database: Database
  private let agent: GuardedAgent
  private let keys: Keyring

  /// - Parameter keys: sign the tokens.
  package init(database: Database, agent: GuardedAgent, keys: Keyring) {
    self.database = database
    self.agent = agent
    self.keys = keys
  }

  private func info(at now: Timestamp) throws -> PairingInfo {
    let minting = Minting(keys: keys, randomBytes: randomBytes(PairingToken.idSize), now: now)
    return try database.pairingInfo(of: agent, minting)
  }

  /// What `GET /api/pair/info` answers.
  package func json(at now: Timestamp) throws -> String {
    let info = try info(at: now)
    return String(decoding: JSONWriter.object { json in info.write(into: &json) }, as: UTF8.self)
  }

  /// The QR code and its facts, as the page shows them.
  package func text(at now: Timestamp) throws -> String {
    let info = try info(at: now)
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

  /// The phones that may reach the agent, one on a line, the one that was used last first.
  package func devices(at now: Timestamp) throws -> String {
    let lines = try database.pairedDevices(at: now).map { device in
      [
        device.id, device.pairedAt.rfc3339, device.lastUsedAt.rfc3339,
        device.address.padded(to: 15), device.userAgent.printable,
      ].joined(separator: "  ")
    }
    let head =
      "ID".padded(to: 36) + "  PAIRED                LAST USED             ADDRESS          APP"
    return ([head] + lines).joined(separator: "\n")
  }

  /// Puts a phone out, at its next request.
  ///
  /// - Returns: false where no paired phone has this id.
  package func revoke(_ id: String, at now: Timestamp) throws -> Bool {
    try database.revokePairedDevice(id, from: .administrator, at: now)
  }
}

extension Origin {
  /// Somebody at a terminal of this machine.
  static let administrator = Origin(requestID: "switchboard-companion", address: "")
}
