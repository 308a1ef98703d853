/// A WebAuthn relying party (W3C Web Authentication Level 3, §7). It registers passkeys and
/// verifies sign-ins.
///
/// The database checks the rest: a challenge is fresh and used once, a credential's id is new, and
/// the sign count rises when sign-ins run at the same time.
package struct RelyingParty: Sendable {
  /// A domain, such as `example.org`.
  package let id: String
  /// The accepted origins, spelled exactly as browsers send them.
  package let origins: [String]
  /// Origins of pages that may frame ours. If empty, no page may.
  package let topOrigins: [String]
  /// Algorithms that new credentials may use.
  package let algorithms: [COSEKey.Algorithm]
  package let requiresUserVerification: Bool

  package init(
    id: String, origins: [String], topOrigins: [String] = [],
    algorithms: [COSEKey.Algorithm] = [.es256, .edDSA, .rs256],
    requiresUserVerification: Bool = true
  ) {
    self.id = id
    self.origins = origins
    self.topOrigins = topOrigins
    self.algorithms = algorithms
    self.requiresUserVerification = requiresUserVerification
  }

  /// Checks the type, challenge and origins of client data.
  func check(
    _ json: [UInt8], type: String, challengeDigest: [UInt8]
  ) throws(WebAuthnError) {
    let data = try ClientData(json)
    guard data.type == type else { throw .type }
    guard let challenge = base64URLDecoded(data.challenge),
      isEqualInConstantTime(sha256(challenge), challengeDigest)
    else { throw .challenge }
    guard Self.isMember(data.origin, of: origins) else { throw .origin }
    guard !data.isCrossOrigin || !topOrigins.isEmpty else { throw .crossOrigin }
    guard data.topOrigin.map({ Self.isMember($0, of: topOrigins) }) ?? true
    else { throw .crossOrigin }
  }

  /// The authenticator data of `bytes`, after checking relying party, user presence, user
  /// verification and backup.
  func authenticatorData(
    _ bytes: ArraySlice<UInt8>
  ) throws(WebAuthnError) -> AuthenticatorData {
    guard let data = AuthenticatorData(bytes) else { throw .authenticatorData }
    guard data.rpIDHash.elementsEqual(sha256(id)) else { throw .relyingParty }
    guard data.flags.contains(.userPresent) else { throw .userPresence }
    guard data.flags.contains(.userVerified) || !requiresUserVerification
    else { throw .userVerification }
    guard data.flags.contains(.backupEligible) || !data.flags.contains(.backedUp)
    else { throw .backup }
    return data
  }

  /// Checks that `data` end as their flags declare: with one map of extensions, which is ignored,
  /// or with nothing.
  static func checkEnd(of data: AuthenticatorData) throws(WebAuthnError) {
    var isDeclared = data.rest.isEmpty
    if data.flags.contains(.extensions) {
      do { isDeclared = try CBOR(decoding: data.rest).map != nil } catch { isDeclared = false }
    }
    guard isDeclared else { throw .authenticatorData }
  }

  /// Compares byte by byte: canonically equivalent strings are different origins.
  private static func isMember(_ origin: String, of list: [String]) -> Bool {
    list.contains { $0.utf8.elementsEqual(origin.utf8) }
  }
}
