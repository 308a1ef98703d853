import Cryptography
import Store

/// Provider token of the team, shared by all runs, processes and hosts through the database.
///
/// Apple accepts one new token per team in 20 minutes, and a token expires after an hour. So one
/// writer issues a new token after 50 minutes. Only the database's clock counts: a host with a
/// wrong clock does not issue a token that Apple refuses.
struct SharedProviderTokens: Sendable {
  let database: Database
  let settings: APNsSettings
  let sealingKeys: CompanionKeys

  private static let lifetime = Duration.seconds(50 * 60)
  private static let leastAge = Duration.seconds(20 * 60)
  /// Minimum age of a token that another private key signed under the same key id, which happens
  /// after a wrong key was replaced. Not zero, because two hosts may have different keys.
  private static let leastAgeOfForeign = Duration.seconds(60)

  /// Returns the shared token, and issues a new one if necessary.
  ///
  /// - Parameter refused: the token that Apple has just called expired. It is replaced only if it
  ///   is still the shared token and 20 minutes old; returning it again means that there is no
  ///   newer one.
  /// - Throws: if the database does not answer, or if the shared token cannot be decrypted and is
  ///   too young to replace.
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
          // The sealing key is lost: a new token can be issued after at most 20 minutes.
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
  /// Makes a client that shares its provider token with all others.
  ///
  /// - Parameter other: the endpoint to use instead of ``endpoint``.
  func client(
    _ database: Database, sealingKeys: CompanionKeys, limits: APNsClient.Limits = .init(),
    clock: LimitClock = .system, at other: APNsEndpoint? = nil
  ) -> APNsClient {
    let tokens = SharedProviderTokens(
      database: database, settings: self, sealingKeys: sealingKeys)
    return APNsClient(
      endpoint: other ?? endpoint, trust: trust, limits: limits, clock: clock,
      providerToken: tokens.currentToken(insteadOf:))
  }
}
