import Base
package import Cryptography
package import Store

/// What the responder's handlers need to know of their site.
package struct Settings: Sendable {
  package enum Environment: String, CaseIterable, Sendable {
    case production, preview, development
  }

  package let environment: Environment
  /// `https://…` without a final slash. The first is the main one; all are accepted in what was signed
  /// or sent for this site.
  package let publicURLs: [String]
  /// Those of ``publicURLs``, as browsers send them.
  package let origins: [String]
  /// The path of ``publicURL``, below which the site lies; empty for most.
  package let basePath: String
  /// Sign access and refresh tokens.
  package let jwtKeys: Keyring
  /// Make the stored forms of mailed codes and refresh-token ids.
  package let hmacKeys: Keyring
  /// Seal device credentials, and sign pairing tokens.
  package let credentialKeys: Keyring
  /// Seal what only the companion can open: mails, and the secrets of an enrollment.
  package let companionKeys: BoxPublicKeys
  /// Path of the companion's unix socket; nil where nobody wakes the companion.
  package let wakeSocket: String?
  /// SHA-256 of the key that API keys are issued for; nil where none are issued.
  package let masterKeyHash: [UInt8]?
  /// How often the companion polls a user whose games move; shown in diagnostics.
  package let checkInterval: Duration
  /// Origins of pages that may use push beside those of the environment, such as `tauri://localhost`.
  package let allowedOrigins: [String]
  /// The Android apps that may use the site's passkeys.
  package let androidApps: [AndroidApp]
  /// Verifies passkeys: the host of ``publicURL``, and the origins whose pages count.
  package let relyingParty: RelyingParty
  /// A number that the answers of push repeat.
  package let pushLookupConcurrency: Int
  /// nil where no browser can subscribe.
  package let webPush: WebPushSettings?
  /// What phones that pair learn.
  package let agent: GuardedAgent
  /// From where phones are paired.
  package let pairingAccess: PairingAccess
  /// Path of the relay's unix socket; nil where there is none.
  package let relaySocket: String?
  /// What the apps of device preferences have to prove.
  package let attestation: AttestationPolicy

  /// What the responder needs to post mails.
  package var mailKeys: MailKeys { MailKeys(sealing: companionKeys, links: hmacKeys) }

  package init(
    environment: Environment, publicURLs: [String], jwtKeys: Keyring, hmacKeys: Keyring,
    credentialKeys: Keyring, companionKeys: BoxPublicKeys, wakeSocket: String?,
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
    self.companionKeys = companionKeys
    self.wakeSocket = wakeSocket
    self.masterKeyHash = masterKeyHash
    self.checkInterval = checkInterval
    self.allowedOrigins = allowedOrigins
    // The configuration is refused where this names no host.
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

  /// The main address; `iss` of the access tokens.
  package var publicURL: String { publicURLs[0] }
}
