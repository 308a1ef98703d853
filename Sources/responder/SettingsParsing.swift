import API
import Base
import Cryptography
import ProcessSupport
import SharedSettings
import Store

extension Settings {
  /// - Returns: nil after a complaint in `environment`.
  init?(from environment: inout ProcessSupport.Environment) {
    let kind = environment.choice("SWITCHBOARD_ENV", default: Environment.production)
    let publicURLs = environment.publicURLs()
    let jwtKeys = environment.keyring("SWITCHBOARD_JWT_KEYS", "the keys that sign access tokens")
    let hmacKeys = environment.keyring("SWITCHBOARD_HMAC_KEYS", "the keys that hide mailed codes")
    let credentialKeys = environment.keyring(
      "SWITCHBOARD_CREDENTIAL_KEYS", "the keys that seal device credentials")
    let paymentKeys = environment.es256Keyring(
      "SWITCHBOARD_PAYMENT_KEYS", "the keys that sign the statements of payments")
    let companionKeys = environment.boxPublicKeys(
      "SWITCHBOARD_COMPANION_PUBLIC_KEYS", "the public keys that seal mails for the companion")
    let wakeSocket = environment.optional("SWITCHBOARD_WAKE_SOCKET")
    let masterKey = environment.masterKey(of: kind)
    let interval = environment.integer("CHECK_INTERVAL_SECONDS", in: 1...86_400, default: 30)
    let allowedOrigins = environment.list(
      "SWITCHBOARD_ALLOWED_ORIGINS", of: "origins, scheme://host[:port]"
    ) { WebURL($0)?.rest == "" }
    let passkeyOrigins = environment.list(
      "SWITCHBOARD_PASSKEY_ORIGINS",
      of: "origins, https://host[:port] or android:apk-key-hash:…, as apps send them",
      where: isPasskeyOrigin)
    let androidApps = environment.list(
      "SWITCHBOARD_ANDROID_APPS",
      of: "package=fingerprint, the fingerprint of a certificate being its SHA-256 as AB:CD:…"
    ) { AndroidApp($0) != nil }
    let concurrency = environment.integer(
      "PUSH_METADATA_LOOKUP_CONCURRENCY", in: 1...20, default: 8)
    let webPush = WebPushSettings(from: &environment)
    let attestation = AttestationPolicy(of: kind, from: &environment)
    let agent = environment.agent(at: publicURLs?.first ?? "")
    if !agent.requiresAuth, kind == .production {
      environment.complain(
        about: "SWITCHBOARD_REQUIRE_AUTH",
        "must not be false in production: everybody could use the agent. Remove it, or set SWITCHBOARD_ENV to development"
      )
    }
    let pairingAccess = PairingAccess(
      allowed: environment.networks("SWITCHBOARD_PAIRING_ALLOW"),
      proxies: environment.networks("SWITCHBOARD_TRUSTED_PROXIES"))
    let relaySocket = environment.optional("SWITCHBOARD_RELAY_SOCKET")
    if let publicURLs, !publicURLs.allSatisfy({ WebURL($0) != nil }) {
      environment.complain(about: "SWITCHBOARD_PUBLIC_URL", "must name a host")
      return nil
    }
    guard let publicURLs, let jwtKeys, let hmacKeys, let credentialKeys, let paymentKeys,
      let companionKeys
    else { return nil }
    self.init(
      environment: kind, publicURLs: publicURLs, jwtKeys: jwtKeys, hmacKeys: hmacKeys,
      credentialKeys: credentialKeys, paymentKeys: paymentKeys, companionKeys: companionKeys,
      wakeSocket: wakeSocket,
      masterKeyHash: masterKey.map { sha256($0) },
      checkInterval: .seconds(interval), allowedOrigins: allowedOrigins,
      passkeyOrigins: passkeyOrigins, androidApps: AndroidApp.merging(androidApps),
      pushLookupConcurrency: concurrency, webPush: webPush, agent: agent,
      pairingAccess: pairingAccess, relaySocket: relaySocket,
      attestation: attestation)
  }
}

extension ProcessSupport.Environment {
  /// The master key for which API keys are issued. In production, complains about a key that could be guessed.
  fileprivate mutating func masterKey(of kind: Settings.Environment) -> String? {
    let key = optional("MASTER_API_KEY")
    if let key, kind == .production, key.utf8.count < 32 {
      complain(about: "MASTER_API_KEY", "must have at least 32 bytes: openssl rand -base64 32")
    }
    return key
  }

  fileprivate mutating func networks(_ name: String) -> [IPNetwork] {
    list(name, of: "addresses and networks, such as 192.0.2.0/24") { IPNetwork($0) != nil }
      .compactMap { IPNetwork($0) }
  }

  /// The entries of `name`, separated by commas. Complains about a list with a malformed entry.
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

/// Whether an app may send `text` as its origin: the origin of a page as browsers write it, or the
/// origin of an Android app, which is the SHA-256 of its certificate.
private func isPasskeyOrigin(_ text: String) -> Bool {
  let android = "android:apk-key-hash:"
  if text.hasPrefix(android) {
    return base64URLDecoded(String(text.dropFirst(android.count)))?.count == 32
  }
  return WebURL(text)?.origin == text
}

extension WebPushSettings {
  /// - Returns: nil if the key is missing or malformed.
  fileprivate init?(from environment: inout ProcessSupport.Environment) {
    let services = environment.pushServices()
    let name = "WEBPUSH_VAPID_PUBLIC_KEY"
    guard let key = environment.optional(name) else { return nil }
    guard let point = base64URLDecoded(key),
      (try? P256PublicKey(uncompressedPoint: point)) != nil  // the complaint states the rule
    else {
      environment.complain(about: name, "must be the output of `switchboard-companion keys vapid`")
      return nil
    }
    self.init(publicKey: key, services: services)
  }
}

extension AttestationPolicy {
  fileprivate init(
    of kind: Settings.Environment, from environment: inout ProcessSupport.Environment
  ) {
    let mode = environment.choice("SWITCHBOARD_ATTESTATION", default: Mode.observe)
    let teamID = environment.optional("SWITCHBOARD_APPLE_TEAM_ID")
    let bundleIDs = environment.list(
      "SWITCHBOARD_APPLE_BUNDLE_IDS", of: "bundle ids", where: \.isBundleID)
    let root = Certificate.attestationRoot(of: kind, from: &environment)
    if teamID == nil, mode == .enforce {
      environment.complain(
        about: "SWITCHBOARD_APPLE_TEAM_ID", "is missing: SWITCHBOARD_ATTESTATION is enforce")
    }
    if let teamID, teamID.isEmpty || !teamID.utf8.allSatisfy(\.isAlphanumeric) {
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
  /// The certificate that replaces Apple's root in development; nil if it is missing or malformed.
  fileprivate static func attestationRoot(
    of kind: Settings.Environment, from environment: inout ProcessSupport.Environment
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
