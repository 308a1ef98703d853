package import Base
package import Cryptography
import MariaDB
package import Program

/// The agent behind this site, as phones that pair are told of it.
package struct GuardedAgent: Sendable {
  /// `http://…` or `https://…` without a final slash.
  package let publicURL: String
  /// The repository that the agent works on.
  package let repo: String
  /// Whether tokens are made and asked for.
  package let requiresAuth: Bool

  package init(publicURL: String, repo: String = "switchboard", requiresAuth: Bool = true) {
    self.publicURL = publicURL
    self.repo = repo
    self.requiresAuth = requiresAuth
  }

  /// Reads `SWITCHBOARD_REPO` and `SWITCHBOARD_REQUIRE_AUTH`.
  package init(at publicURL: String, from environment: inout Environment) {
    let repo = environment.optional("SWITCHBOARD_REPO")?.trimmed ?? "switchboard"
    if repo.isEmpty || repo.unicodeScalars.count > 100 || repo.hasControls {
      environment.complain(
        about: "SWITCHBOARD_REPO", "must be a name of 1 to 100 characters, none of them a control")
    }
    self.init(
      publicURL: publicURL, repo: repo,
      requiresAuth: environment.flag("SWITCHBOARD_REQUIRE_AUTH", default: true))
  }

  /// Address of the web socket.
  package var webSocketURL: String { "ws\(publicURL.dropFirst("http".count))/ws" }
}

/// What the QR code, the page and the terminal show.
package struct PairingInfo: Sendable {
  package let agent: GuardedAgent
  /// By which the apps know this site: a UUID.
  package let session: String
  /// nil where no authentication is required.
  package let token: SignedToken?

  package struct SignedToken: Sendable {
    package let text: String
    package let expiresAt: Timestamp
  }

  /// JSON as `GET /api/pair/info` answers it.
  package func write(into json: inout JSONWriter) {
    json.member("ws", agent.webSocketURL)
    json.member("http", agent.publicURL)
    json.member("session", session)
    json.member("repo", agent.repo)
    guard let token else { return }
    json.member("token", token.text)
    json.member("token_expires_at", token.expiresAt.rfc3339)
  }

  /// The content of the QR code: JSON, members in the order of their names. All of it is ASCII, for
  /// readers guess how other characters are encoded.
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

/// What tokens are made of, beside the rows that they belong to.
package struct Minting: Sendable {
  /// The newest of them signs.
  package let keys: Keyring
  /// ``PairingToken/idSize`` unpredictable bytes.
  package let randomBytes: [UInt8]
  package let now: Timestamp

  package init(keys: Keyring, randomBytes: [UInt8], now: Timestamp) {
    self.keys = keys
    self.randomBytes = randomBytes
    self.now = now
  }
}

extension Database {
  /// A pairing token with less left is followed by a new one.
  private static let leastTimeLeft = Duration.seconds(300)

  /// What is to be shown, with the one current pairing token: a new one is minted where that is
  /// spent, revoked or nearly over.
  package func pairingInfo(of agent: GuardedAgent, _ minting: Minting) throws -> PairingInfo {
    func info(_ current: CurrentPairing) -> PairingInfo {
      PairingInfo(
        agent: agent, session: current.session,
        token: agent.requiresAuth ? current.token.map(minting.sign) : nil)
    }
    let latest = minting.now + Self.leastTimeLeft
    let current = try pool.read { connection in try connection.currentPairing() }
    if !agent.requiresAuth || current.isGood(at: latest) { return info(current) }
    return try repeatingLostRaces { connection in
      let current = try connection.currentPairing()
      if current.isGood(at: latest) { return info(current) }
      let token = minting.pairingToken(of: current.serverID)
      try connection.insert(token)
      let shown = try connection.execute(
        "UPDATE pairing_server SET current_nonce = ? WHERE id = 1 AND current_nonce <=> ?",
        [.text(token.nonce), .text(current.nonce)])
      guard shown == 1 else { throw LostRace() }
      return PairingInfo(agent: agent, session: current.session, token: minting.sign(token))
    }
  }

  /// Revokes every pairing token that no phone has exchanged, and mints a new one. Paired phones
  /// stay, unless `everything` goes.
  package func replacePairingTokens(
    endingPairings everything: Bool, from origin: Origin, _ minting: Minting
  ) throws -> PairingInfo.SignedToken {
    try pool.transaction { connection in
      // Locks the row before any token: of two that do this at once, one waits.
      _ = try connection.execute("UPDATE pairing_server SET current_nonce = NULL WHERE id = 1")
      let revoked = try connection.execute(
        "UPDATE pairing_tokens SET revoked_at = ? WHERE spent_at IS NULL AND revoked_at IS NULL",
        [.time(minting.now)])
      let token = minting.pairingToken(of: try connection.currentPairing().serverID)
      try connection.insert(token)
      _ = try connection.execute(
        "UPDATE pairing_server SET current_nonce = ? WHERE id = 1", [.text(token.nonce)])
      try connection.audit(
        .pairingTokensRevoked, detail: "\(revoked) tokens", from: origin, at: minting.now)
      if everything {
        let ended = try connection.execute(
          "UPDATE pairings SET ended_at = ?, end_reason = 'revoke_all' WHERE ended_at IS NULL",
          [.time(minting.now)])
        try connection.audit(
          .pairingEnded, detail: "all: \(ended) phones", from: origin, at: minting.now)
      }
      return minting.sign(token)
    }
  }

  /// By which the apps know this site: a UUID.
  package func pairingSession() throws -> String {
    try pool.read { connection in try connection.currentPairing().session }
  }
}

/// The row that `schema.sql` makes is not there.
private struct NoPairingServer: Error {}

extension Minting {
  fileprivate func pairingToken(of serverID: String) -> PairingToken {
    PairingToken(
      .pairing, serverID: serverID, issuedAt: now,
      nonce: base64URLEncoded(randomBytes))
  }

  fileprivate func sign(_ token: PairingToken) -> PairingInfo.SignedToken {
    PairingInfo.SignedToken(
      text: token.text(signedWith: keys.newest), expiresAt: token.expiresAt)
  }
}

/// The row of `pairing_server`, with the token that it names.
private struct CurrentPairing {
  let session: String
  let serverID: String
  /// Of the token shown last, whatever became of it.
  let nonce: String?
  /// nil where that is spent or revoked.
  let token: PairingToken?

  init(row: borrowing Row) {
    session = row.text(0)
    serverID = row.text(1)
    nonce = row.optionalText(2)
    guard let nonce, !row.isNull(3) else {
      token = nil
      return
    }
    token = PairingToken(
      .pairing, serverID: serverID, issuedAt: Timestamp(milliseconds: row.milliseconds(3)),
      expiresAt: Timestamp(milliseconds: row.milliseconds(4)), nonce: nonce)
  }

  func isGood(at instant: Timestamp) -> Bool { token.map { $0.expiresAt >= instant } ?? false }
}

extension Connection {
  fileprivate func currentPairing() throws -> CurrentPairing {
    let found = try row(
      """
      SELECT s.session, s.server_id, s.current_nonce, t.issued_at, t.expires_at
      FROM pairing_server s LEFT JOIN pairing_tokens t
        ON t.nonce = s.current_nonce AND t.spent_at IS NULL AND t.revoked_at IS NULL
      """
    ) { row in CurrentPairing(row: row) }
    guard let found else { throw NoPairingServer() }
    return found
  }

  fileprivate func insert(_ token: PairingToken) throws {
    _ = try execute(
      "INSERT INTO pairing_tokens (nonce, issued_at, expires_at) VALUES (?, ?, ?)",
      [.text(token.nonce), .time(token.issuedAt), .time(token.expiresAt)])
  }
}
