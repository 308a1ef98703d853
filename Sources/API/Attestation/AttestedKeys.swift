import Base
import Cryptography
import HTTP
import Store

private let challengeLifetime = Duration.seconds(600)

/// `POST /api/app-attestation/challenge`: issues a challenge for one attestation. It expires after ten
/// minutes.
///
/// - Throws: ``Failure/validation``; ``Failure/tooManyRequests(retryAfter:)``.
func requestAttestationChallenge(
  _ request: Request, in context: borrowing Context
) throws -> Response {
  _ = try context.attestedApps
  let body = try request.decode(ChallengeBody.self)
  guard body.platform.lowercased() == "ios" else {
    throw Failure.badRequest("Only iOS platform is supported")
  }
  let challenge = context.random(32)
  let id = try context.records.attestedKeys.keepChallenge(
    challenge, for: body.bundleID.text, until: context.now + challengeLifetime)
  return .json { json in
    json.member("success", true)
    json.member("challenge", base64Encoded(challenge))
    json.member("challenge_id", id)
    json.member("challengeId", id)
  }
}

/// `POST /api/app-attestation/verify`: enrolls a key for which Apple attests that a genuine app made it.
///
/// - Throws: ``Failure/validation``; ``Failure/forbidden(_:)``, with a message that
///   the apps show; ``Failure/tooManyRequests(retryAfter:)``.
func enrollAttestedKey(_ request: Request, in context: borrowing Context) throws -> Response {
  let apps = try context.attestedApps
  let attestation = try request.decode(AttestationBody.self).attestation
  switch try context.records.attestedKeys.enroll(attestation, of: apps) {
  case .enrolled: return .json { json in json.member("success", true) }
  case .refused(let refusal): throw Failure.refusedKey(refusal)
  }
}

/// `POST /api/app-attestation/verify-key`: answers whether a key is enrolled. For a request with a bearer, the
/// key must also not belong to another phone.
///
/// - Throws: ``Failure/validation``.
func checkAttestedKey(_ request: Request, in context: borrowing Context) throws -> Response {
  let apps = try context.attestedApps
  let keyID = base64Decoded(try request.decode(KeyBody.self).keyID)
  let isValid =
    try keyID.map { keyID in
      try context.records.attestedKeys.isEnrolled(
        keyID, of: apps, for: context.caller(of: request))
    } ?? false
  return .json { json in json.member("valid", isValid) }
}

private struct ChallengeBody: Decodable {
  let platform: String
  let bundleID: BundleID

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Spelling.self)
    platform = try members.decode(String.self, "platform")
    bundleID = try members.decode(BundleID.self, "bundle_id", "bundleId")
  }
}

private struct AttestationBody: Decodable {
  let attestation: PresentedAttestation

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Spelling.self)
    attestation = PresentedAttestation(
      object: try members.decode(
        Base64.self, "attestation_object", "attestationObject", "attestation"
      ).bytes,
      keyID: try members.decode(Base64.self, "key_id", "keyId").bytes,
      challengeID: try members.decode(String.self, "challenge_id", "challengeId"),
      bundleID: try members.decode(BundleID.self, "bundle_id", "bundleId").text)
  }
}

private struct KeyBody: Decodable {
  let keyID: String

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Spelling.self)
    keyID = try members.decode(String.self, "key_id", "keyId")
  }
}

extension Context {
  /// - Throws: 503 if no Apple team is configured.
  fileprivate var attestedApps: AttestedApps {
    get throws {
      guard let apps = settings.attestation.apps else {
        throw Failure.attestationNotConfigured
      }
      return apps
    }
  }
}

extension Failure {
  fileprivate static let attestationNotConfigured = Failure(
    status: 503, message: "App attestation is not configured here: there is no Apple team id")

  fileprivate static func refusedKey(_ refusal: AttestationRefusal) -> Failure {
    switch refusal {
    case .unknownChallenge, .spentChallenge: .forbidden("Invalid challenge")
    case .expiredChallenge: .forbidden("Challenge expired")
    case .otherApp: .forbidden("Bundle ID mismatch")
    default: .forbidden("Invalid attestation")
    }
  }
}

/// The name of a member with several spellings in the apps.
private struct Spelling: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension KeyedDecodingContainer<Spelling> {
  /// Decodes the member of the first of `spellings` that the object has.
  fileprivate func decode<Value: Decodable>(
    _ type: Value.Type, _ spellings: String...
  ) throws -> Value {
    let keys = spellings.map { Spelling(stringValue: $0) }
    return try decode(type, forKey: keys.first(where: contains) ?? keys[0])
  }
}

private struct BundleID: SelfDescribing {
  static let schema = Schema.string.with("pattern", "^[A-Za-z0-9.-]+$").example("org.example.app")

  let text: String

  init(from decoder: any Decoder) throws {
    text = try decoder.singleValueContainer().decode(String.self)
    guard text.isBundleID else {
      throw Failure.validation(field: decoder.field, reason: "not_a_bundle_id")
    }
  }
}

private struct Base64: SelfDescribing {
  static let schema = Schema.base64.example("AA==")

  let bytes: [UInt8]

  init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let bytes = base64Decoded(text) else {
      throw Failure.validation(field: decoder.field, reason: "not_base64")
    }
    self.bytes = bytes
  }
}

extension Endpoint {
  static var requestAttestationChallenge: Endpoint {
    Endpoint(API.requestAttestationChallenge) {
      Operation(
        "Issues a challenge for one attestation, for ten minutes. Only `ios` is supported.",
        body: .json(ChallengeBody.self),
        answers: .json([
          "success": .boolean, "challenge": .base64, "challenge_id": .string,
          "challengeId": .string,
        ]), errors: [.attestationNotConfigured], limits: [.attestationChallenges])
    }
  }

  static var enrollAttestedKey: Endpoint {
    Endpoint(API.enrollAttestedKey) {
      Operation(
        "Enrolls a key for which Apple attests that a genuine app made it.",
        body: .json(AttestationBody.self), answers: .success,
        errors: [
          .attestationNotConfigured, .refusedKey(.unknownChallenge), .refusedKey(.malformed),
        ], limits: [.attestationRefusals])
    }
  }

  static var checkAttestedKey: Endpoint {
    Endpoint(API.checkAttestedKey) {
      Operation(
        "Tells whether a key is enrolled. With an access token, whether it is also this phone's.",
        Access(alternatives: [[], [.accessToken]], errors: []), body: .json(KeyBody.self),
        answers: .json(["valid": .boolean]), errors: [.attestationNotConfigured])
    }
  }
}
