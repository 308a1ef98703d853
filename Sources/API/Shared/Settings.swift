import Base
package import Cryptography
package import Store

/// The site's settings for the responder's handlers.
package struct Settings: Sendable {
  package enum Environment: String, CaseIterable, Sendable {
    case production, preview, development
  }

  package let environment: Environment
  /// The site's addresses, `https://…` without a final slash. The first is the main address. Tokens and requests for any
  /// of them are accepted.
  package let publicURLs: [String]
  /// The origins of ``publicURLs``, as browsers send them.
  package let origins: [String]
  /// The path of ``publicURL``, the base path of the site; usually empty.
  package let basePath: String
  /// Keys that sign access and refresh tokens.
  package let jwtKeys: Keyring
  /// Keys of the MACs of mailed codes, refresh-token ids and link tokens.
  package let hmacKeys: Keyring
  /// Keys that seal device credentials and sign pairing tokens.
  package let credentialKeys: Keyring
  /// Keys that sign the statements of payments. `/.well-known/jwks.json` shows their public halves.
  package let paymentKeys: ES256Keyring
  /// Public keys that seal data which only the companion can open: mails and the secrets of an enrollment.
  package let companionKeys: BoxPublicKeys
  /// Path of the companion's unix socket; nil if the responder cannot wake the companion.
  package let wakeSocket: String?
  /// SHA-256 of the master key for which API keys are issued; nil if the site issues none.
  package let masterKeyHash: [UInt8]?
  /// The companion's poll interval for a user whose games move; shown in diagnostics.
  package let checkInterval: Duration
  /// Origins of pages that may use push in addition to the environment's origins, such as `tauri://localhost`.
  package let allowedOrigins: [String]
  /// The Android apps that may use the site's passkeys.
  package let androidApps: [AndroidApp]
  /// Verifies passkeys: has the host of ``publicURL`` and the accepted origins.
  package let relyingParty: RelyingParty
  /// A number that the answers of push repeat.
  package let pushLookupConcurrency: Int
  /// The Web Push settings; nil if browsers cannot subscribe.
  package let webPush: WebPushSettings?
  /// The agent's data for phones that pair.
  package let agent: GuardedAgent
  /// The addresses that may pair phones.
  package let pairingAccess: PairingAccess
  /// Path of the relay's unix socket; nil if there is no relay.
  package let relaySocket: String?
  /// The attestation that apps of device preferences must provide.
  package let attestation: AttestationPolicy

  /// The keys that the responder needs to queue mails.
  package var mailKeys: MailKeys { MailKeys(sealing: companionKeys, links: hmacKeys) }

  package init(
    environment: Environment, publicURLs: [String], jwtKeys: Keyring, hmacKeys: Keyring,
    credentialKeys: Keyring, paymentKeys: ES256Keyring, companionKeys: BoxPublicKeys,
    wakeSocket: String?,
    masterKeyHash: [UInt8]? = nil,
    checkInterval: Duration = .seconds(30), allowedOrigins: [String] = [],
    passkeyOrigins: [String] = [], androidApps: [AndroidApp] = [], pushLookupConcurrency: Int = 8,
    webPush: WebPushSettings? = nil, agent: GuardedAgent? = nil,
    pairingAccess: PairingAccess = PairingAccess(), relaySocket: String? = nil,
    attestation: AttestationPolicy = AttestationPolicy()
  ) {
    self.environment = environment
    self.publicURLs = publicURLs
    self.jwtKeys = jwtKeys
    self.hmacKeys = hmacKeys
    self.credentialKeys = credentialKeys
    self.paymentKeys = paymentKeys
    self.companionKeys = companionKeys
    self.wakeSocket = wakeSocket
    self.masterKeyHash = masterKeyHash
    self.checkInterval = checkInterval
    self.allowedOrigins = allowedOrigins
    // The configuration requires a host in each URL.
    let sites = publicURLs.map { WebURL($0)! }
    origins = sites.map(\.origin)
    basePath = sites[0].rest
    self.androidApps = androidApps
    let appOrigins = androidApps.flatMap(\.origins).filter { !passkeyOrigins.contains($0) }
    relyingParty = RelyingParty(
      id: sites[0].host, origins: origins + passkeyOrigins + appOrigins)
    self.pushLookupConcurrency = pushLookupConcurrency
    self.webPush = webPush
    self.agent = agent ?? GuardedAgent(publicURL: publicURLs[0])
    self.pairingAccess = pairingAccess
    self.relaySocket = relaySocket
    self.attestation = attestation
  }

  /// The main address, and `iss` of the access tokens.
  package var publicURL: String { publicURLs[0] }
}
