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
}
