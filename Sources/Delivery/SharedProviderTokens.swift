import Cryptography
import Store

/// The provider token of the team, shared by all runs, processes and hosts through the database.
///
/// Apple takes one new token for a team in 20 minutes and calls one older than an hour expired, so
/// one is minted after 50 minutes, by one writer.
struct SharedProviderTokens: Sendable {
  let database: Database
  let settings: APNsSettings
  let sealingKeys: Keyring

  private static let lifetime = Duration.seconds(50 * 60)
  private static let leastAge = Duration.seconds(20 * 60)

  /// The token that all use now.
  ///
  /// - Parameter refused: the token that Apple has just called expired, which is replaced only if it
  ///   still is the shared one and is 20 minutes old: the same again says that there is none newer.
  /// - Throws: where the database does not answer, or what it holds cannot be opened.
  func token(insteadOf refused: String?) throws -> String {
    let context = "provider token \(settings.teamID) \(settings.keyID)"
    while true {
      let shared = try database.providerToken(team: settings.teamID, key: settings.keyID)
      let current = try shared.map { shared throws(CryptographyError) in
        String(
          decoding: try open(shared.sealed, authenticating: context, with: sealingKeys),
          as: UTF8.self)
      }
      if let shared, let current {
        let isRefused = current == refused
        if isRefused ? shared.age < Self.leastAge : shared.age < Self.lifetime { return current }
      }
      let minted = try ProviderToken.make(
        keyID: settings.keyID, teamID: settings.teamID, issuedAt: Timestamp.now(),
        key: settings.key)
      let isOurs = try database.replaceProviderToken(
        team: settings.teamID, key: settings.keyID,
        sealed: seal(Array(minted.utf8), authenticating: context, with: sealingKeys),
        generation: shared?.generation ?? 0, minimumAge: Self.leastAge)
      if isOurs { return minted }
    }
  }
}

extension APNsSettings {
  /// A client that shares its provider token with all others.
  func client(
    _ database: Database, sealingKeys: Keyring, limits: APNsClient.Limits = .init()
  ) -> APNsClient {
    let tokens = SharedProviderTokens(
      database: database, settings: self, sealingKeys: sealingKeys)
    return APNsClient(
      endpoint: endpoint, trust: trust, limits: limits,
      providerToken: tokens.token(insteadOf:))
  }
}
