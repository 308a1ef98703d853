import Base

/// Why a WebAuthn ceremony was refused: one case for each step. To the client all are one answer.
package enum WebAuthnError: Error, Equatable, Sendable {
  /// Client data are not a JSON object with the members that must be there, each once.
  case clientData
  /// `type` is that of the other ceremony, or of none.
  case type
  case challenge
  case origin
  /// The page was framed by one of another origin.
  case crossOrigin
  /// The attestation object is not CBOR as ``CBOR`` reads it.
  case malformed
  /// Authenticator data end too early, go on too long, or hold what they do not declare.
  case authenticatorData
  /// Authenticator data are for another relying party.
  case relyingParty
  case userPresence
  case userVerification
  /// The credential is backed up and may not be, or may be where it might not before.
  case backup
  /// The id of the credential is empty or over 1,023 bytes.
  case credentialID
  /// The key is none, or its algorithm was not offered.
  case publicKey
  case signature
  /// The counter does not go up: perhaps there are two of this authenticator. Worth a line in the log.
  case signCount
  /// The credential is unknown, was not asked for, or is another user's.
  case credential
}

/// A WebAuthn relying party (W3C Web Authentication Level 3, §7): enrols passkeys and verifies sign-ins.
///
/// Whatever outlives a ceremony is the database's: that a challenge is fresh and used once, that a
/// credential's id is new, and that the counter goes up where two sign-ins meet.
package struct RelyingParty: Sendable {
  /// A domain, as `example.org`.
  package let id: String
  /// Origins whose ceremonies count, spelled exactly as browsers send them.
  package let origins: [String]
  /// Origins of pages that may frame ours; none: no page may.
  package let topOrigins: [String]
  /// What new credentials may use.
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

  /// Checks type, challenge and origins of client data.
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

  /// The authenticator data of `bytes`, with party, presence, verification and backup checked.
  func authenticatorData(
    _ bytes: ArraySlice<UInt8>
  ) throws(WebAuthnError) -> AuthenticatorData {
    guard let data = AuthenticatorData(bytes) else { throw .authenticatorData }
    guard data.partyHash.elementsEqual(sha256(id)) else { throw .relyingParty }
    guard data.flags.contains(.userPresent) else { throw .userPresence }
    guard data.flags.contains(.userVerified) || !requiresUserVerification
    else { throw .userVerification }
    guard data.flags.contains(.backupEligible) || !data.flags.contains(.backedUp)
    else { throw .backup }
    return data
  }

  /// Checks that `data` end with what their flags declare: one map of extensions, which is ignored, or
  /// nothing.
  static func checkEnd(of data: AuthenticatorData) throws(WebAuthnError) {
    var isDeclared = data.rest.isEmpty
    if data.flags.contains(.extensions) {
      do { isDeclared = try CBOR(decoding: data.rest).map != nil } catch { isDeclared = false }
    }
    guard isDeclared else { throw .authenticatorData }
  }

  /// Byte by byte: strings that are only equivalent are two origins.
  private static func isMember(_ origin: String, of list: [String]) -> Bool {
    list.contains { $0.utf8.elementsEqual(origin.utf8) }
  }
}

/// The challenge that client data name, by which the database finds what they answer; whether that was issued for
/// this ceremony, and that the rest of them is right, the ceremony's verification says.
///
/// - Returns: nil where they are no client data, or the challenge is not base64url.
package func challenge(inClientData json: [UInt8]) -> [UInt8]? {
  do { return base64URLDecoded(try ClientData(json).challenge) } catch { return nil }
}

/// What the browser says that it had signed (WebAuthn §5.8.1).
struct ClientData {
  static let maximumSize = 4096

  let type: String
  let challenge: String
  let origin: String
  let isCrossOrigin: Bool
  let topOrigin: String?

  /// - Parameter json: UTF-8; a byte order mark in front is dropped, as the standard has it. A member
  ///   that comes twice is refused, one that is not known is passed over.
  init(_ json: [UInt8]) throws(WebAuthnError) {
    guard json.count <= Self.maximumSize else { throw .clientData }
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    var texts: [String: String] = [:]
    var isCrossOrigin = false
    do {
      var reader = JSONReader(json.starts(with: mark) ? Array(json.dropFirst(mark.count)) : json)
      var names: Set<String> = []
      try reader.object { name, value in
        guard names.insert(name).inserted else { throw WebAuthnError.clientData }
        switch name {
        case "type", "challenge", "origin", "topOrigin": texts[name] = try value.string()
        case "crossOrigin": isCrossOrigin = try value.boolean()
        default: try value.skip()
        }
      }
      try reader.end()
    } catch {
      throw .clientData
    }
    guard let type = texts["type"], let challenge = texts["challenge"], let origin = texts["origin"]
    else { throw .clientData }
    self.type = type
    self.challenge = challenge
    self.origin = origin
    self.isCrossOrigin = isCrossOrigin
    topOrigin = texts["topOrigin"]
  }
}
