import Cryptography
import Store

/// The provider token of the team, shared by all runs, processes and hosts through the database.
///
/// Apple takes one new token for a team in 20 minutes and calls one older than an hour expired, so
/// one is issued after 50 minutes, by one writer. The database's clock alone says when: a host whose
/// clock is wrong issues no token that Apple refuses.
struct SharedProviderTokens: Sendable {
  let database: Database
  let settings: APNsSettings
  let sealingKeys: CompanionKeys

  private static let lifetime = Duration.seconds(50 * 60)
  private static let leastAge = Duration.seconds(20 * 60)
  /// Of a token that another private key signed under the same id: a wrong one was repaired. Not at once, because
  /// two hosts may have different keys.
  private static let leastAgeOfForeign = Duration.seconds(60)

  /// The token that all use now.
  ///
  /// - Parameter refused: the token that Apple has just called expired, which is replaced only if it
  ///   still is the shared one and is 20 minutes old: the same again says that there is none newer.
  /// - Throws: where the database does not answer, or what it holds cannot be opened and is too young
  ///   to replace.
  func currentToken(insteadOf refused: String?) throws -> String {
    let context = "provider token \(settings.teamID) \(settings.keyID)"
    let publicKey = try settings.key.publicKey()
    while true {
      var leastAge = Self.leastAge
      let tokens = database.records(at: .now(), from: .companion).providerTokens
      let shared = try tokens.newest(team: settings.teamID, key: settings.keyID)
      if let shared, !shared.isOfTheFuture {
        do throws(CryptographyError) {
          let current = String(
            decoding: try sealingKeys.open(shared.sealed, authenticating: context),
            as: UTF8.self)
          let isOwn = ProviderToken.isSigned(current, by: publicKey)
          if !isOwn { leastAge = Self.leastAgeOfForeign }
          let age = isOwn && current != refused ? Self.lifetime : leastAge
          if shared.age < age { return current }
        } catch {
          // The key that sealed it has gone: in 20 minutes at most there is a token again.
          if shared.age < Self.leastAge { throw error }
        }
      }
      let issued = try ProviderToken.make(
        keyID: settings.keyID, teamID: settings.teamID, issuedAt: database.now(),
        key: settings.key)
      let isOurs = try tokens.replace(
        team: settings.teamID, key: settings.keyID,
        sealed: sealingKeys.seal(Array(issued.utf8), authenticating: context),
        generation: shared?.generation ?? 0, minimumAge: leastAge)
      if isOurs { return issued }
    }
  }
}

extension APNsSettings {
  /// A client that shares its provider token with all others.
  ///
  /// - Parameter other: instead of ``endpoint``.
  func client(
    _ database: Database, sealingKeys: CompanionKeys, limits: APNsClient.Limits = .init(),
    at other: APNsEndpoint? = nil
  ) -> APNsClient {
    let tokens = SharedProviderTokens(
      database: database, settings: self, sealingKeys: sealingKeys)
    return APNsClient(
      endpoint: other ?? endpoint, trust: trust, limits: limits,
      providerToken: tokens.currentToken(insteadOf:))
  }
}
