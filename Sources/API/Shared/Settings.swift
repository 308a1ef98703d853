import Base
package import Cryptography
package import Program
package import Store

/// What the responder's handlers need to know of their site.
package struct Settings: Sendable {
  package enum Environment: String, CaseIterable, Sendable {
    case production, preview, development
  }

  package let environment: Environment
  /// `https://…` without a final slash; `iss` of the access tokens.
  package let publicURL: String
  /// Sign access and refresh tokens.
  package let jwtKeys: Keyring
  /// Under which mailed codes and refresh-token ids are kept.
  package let hmacKeys: Keyring
  /// Seal device credentials, and mails for the companion; sign the pairing tokens, which the
  /// companion shows too.
  package let credentialKeys: Keyring
  /// Path of the companion's unix socket; nil where nobody is to be woken.
  package let knockSocket: String?
  /// SHA-256 of the key against which API keys are issued; nil where none are.
  package let masterKeyHash: [UInt8]?
  /// How often the companion polls a user whose games move; only told.
  package let checkInterval: Duration
  /// Origins of pages that may use push, `tauri://localhost` say, beside those of the environment.
  package let allowedOrigins: [String]
  /// Registers passkeys and verifies their assertions: the host of ``publicURL``, and whose pages count.
  package let relyingParty: RelyingParty
  /// What the answers of push say of themselves: one statement finds the owner of every token.
  package let pushLookupConcurrency: Int
  /// What phones that pair are told.
  package let agent: GuardedAgent
  /// What the apps of device preferences have to prove.
  package let attestation: AttestationPolicy

  package init(
    environment: Environment, publicURL: String, jwtKeys: Keyring, hmacKeys: Keyring,
    credentialKeys: Keyring, knockSocket: String?, masterKeyHash: [UInt8]? = nil,
    checkInterval: Duration = .seconds(30), allowedOrigins: [String] = [],
    passkeyOrigins: [String] = [], pushLookupConcurrency: Int = 8, agent: GuardedAgent? = nil,
    attestation: AttestationPolicy = AttestationPolicy()
  ) {
    self.environment = environment
    self.publicURL = publicURL
    self.jwtKeys = jwtKeys
    self.hmacKeys = hmacKeys
    self.credentialKeys = credentialKeys
    self.knockSocket = knockSocket
    self.masterKeyHash = masterKeyHash
    self.checkInterval = checkInterval
    self.allowedOrigins = allowedOrigins
    let site = WebOrigin(ofURL: publicURL)!  // the environment is asked for one that names a host
    relyingParty = RelyingParty(id: site.host, origins: [site.text] + passkeyOrigins)
    self.pushLookupConcurrency = pushLookupConcurrency
    self.agent = agent ?? GuardedAgent(publicURL: publicURL)
    self.attestation = attestation
  }

  /// - Returns: nil after a complaint in `environment`.
  package init?(from environment: inout Program.Environment) {
    let kind = environment.choice("SWITCHBOARD_ENV", default: Environment.production)
    let publicURL = environment.publicURL()
    let jwtKeys = environment.keyring("SWITCHBOARD_JWT_KEYS", "the keys that sign access tokens")
    let hmacKeys = environment.keyring("SWITCHBOARD_HMAC_KEYS", "the keys that hide mailed codes")
    let credentialKeys = environment.keyring(
      "SWITCHBOARD_CREDENTIAL_KEYS", "the keys that seal credentials and mails")
    let knockSocket = environment.optional("SWITCHBOARD_KNOCK_SOCKET")
    let masterKey = environment.optional("MASTER_API_KEY")
    let interval = environment.integer("CHECK_INTERVAL_SECONDS", in: 1...86_400, default: 30)
    let allowedOrigins = environment.list(
      "SWITCHBOARD_ALLOWED_ORIGINS", of: "origins, scheme://host[:port]"
    ) { WebOrigin($0) != nil }
    let passkeyOrigins = environment.list(
      "SWITCHBOARD_PASSKEY_ORIGINS",
      of: "origins, https://host[:port] or android:apk-key-hash:…, as apps send them",
      where: isPasskeyOrigin)
    let concurrency = environment.integer(
      "PUSH_METADATA_LOOKUP_CONCURRENCY", in: 1...20, default: 8)
    let attestation = AttestationPolicy(of: kind, from: &environment)
    let agent = GuardedAgent(at: publicURL ?? "", from: &environment)
    if let publicURL, WebOrigin(ofURL: publicURL) == nil {
      environment.complain(about: "SWITCHBOARD_PUBLIC_URL", "must name a host")
      return nil
    }
    guard let publicURL, let jwtKeys, let hmacKeys, let credentialKeys else { return nil }
    self.init(
      environment: kind, publicURL: publicURL, jwtKeys: jwtKeys, hmacKeys: hmacKeys,
      credentialKeys: credentialKeys, knockSocket: knockSocket,
      masterKeyHash: masterKey.map { sha256($0) },
      checkInterval: .seconds(interval), allowedOrigins: allowedOrigins,
      passkeyOrigins: passkeyOrigins, pushLookupConcurrency: concurrency, agent: agent,
      attestation: attestation)
  }
}

extension Program.Environment {
  /// The entries of `name`, separated by commas; a complaint is made of a list with one that is not good.
  fileprivate mutating func list(
    _ name: String, of what: String, where isGood: (String) -> Bool
  ) -> [String] {
    guard let list = optional(name) else { return [] }
    let entries = list.split(separator: ",").map { String($0).trimmed }
    if entries.isEmpty || !entries.allSatisfy(isGood) {
      complain(about: name, "must be a list of \(what), separated by commas")
    }
    return entries
  }
}

/// Whether an app may send `text` as its origin: that of a page, spelled as browsers do, or that of an app of Android,
/// which is the SHA-256 of its certificate.
private func isPasskeyOrigin(_ text: String) -> Bool {
  let android = "android:apk-key-hash:"
  if text.hasPrefix(android) {
    return base64URLDecoded(String(text.dropFirst(android.count)))?.count == 32
  }
  return WebOrigin(text)?.text == text
}

extension AttestationPolicy {
  fileprivate init(of kind: Settings.Environment, from environment: inout Program.Environment) {
    let mode = environment.choice("SWITCHBOARD_ATTESTATION", default: Mode.observe)
    let teamID = environment.optional("SWITCHBOARD_APPLE_TEAM_ID")
    let bundleIDs = environment.list(
      "SWITCHBOARD_APPLE_BUNDLE_IDS", of: "bundle ids", where: \.isBundleID)
    let root = Certificate.attestationRoot(of: kind, from: &environment)
    if teamID == nil, mode == .enforce {
      environment.complain(
        about: "SWITCHBOARD_APPLE_TEAM_ID", "is missing: SWITCHBOARD_ATTESTATION is enforce")
    }
    if let teamID, !teamID.isOfLettersAndDigits() {
      environment.complain(
        about: "SWITCHBOARD_APPLE_TEAM_ID", "must be Apple's id of the team, letters and digits")
    }
    let apps = teamID.map { teamID in
      AttestedApps(
        teamID: teamID, bundleIDs: Set(bundleIDs),
        environments: kind == .production ? [.production] : [.production, .development],
        root: root ?? .appleAppAttestationRoot)
    }
    self.init(mode: mode, acceptsStubs: kind == .development, apps: apps)
  }
}

extension Certificate {
  /// What replaces Apple's root, in development only; nil where nothing does, and after a complaint.
  fileprivate static func attestationRoot(
    of kind: Settings.Environment, from environment: inout Program.Environment
  ) -> Certificate? {
    let name = "SWITCHBOARD_ATTESTATION_ROOT"
    guard kind == .development else {
      if environment.optional(name) != nil {
        environment.complain(about: name, "is for SWITCHBOARD_ENV=development only")
      }
      return nil
    }
    guard let text = environment.contentOfFile(namedBy: name) else { return nil }
    do {
      return try Certificate(pem: text)
    } catch {
      environment.complain(about: name, "must name a file with a certificate in PEM")
      return nil
    }
  }
}

extension String {
  /// Whether it is what Apple takes for a bundle id: up to 155 letters, digits, hyphens and dots.
  var isBundleID: Bool { isOfLettersAndDigits(or: "-.") && utf8.count <= 155 }

  /// ASCII only; false for the empty string.
  fileprivate func isOfLettersAndDigits(or others: String = "") -> Bool {
    !isEmpty
      && unicodeScalars.allSatisfy { scalar in
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9": true
        default: others.unicodeScalars.contains(scalar)
        }
      }
  }
}
