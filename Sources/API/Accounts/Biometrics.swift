import Base
import Cryptography
import HTTP
import Store

private let challengeLifetime = Duration.seconds(300)

/// `POST /api/mobile/auth/biometric/setup`: sets the key that signs in on the signed-in device. With `challenge` and
/// `signature` the app proves that it has the private half.
///
/// - Throws: ``Failure/validation``; ``Failure/notFound(_:)`` if the device is
///   not that of the access token; ``Failure/keyInUse``.
func setUpBiometrics(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let body = try request.decode(BiometricKeyBody.self)
  switch try context.records.biometrics.setUp(body.key, on: body.deviceId.text, by: caller) {
  case .done(let id):
    context.wakeCompanion()
    return .json { json in
      json.member("biometricId", id)
      json.member("status", "enabled")
    }
  case .otherDevice: throw Failure.notFound(\.deviceGone)
  case .notSigned: throw Failure.validation(field: "signature", reason: "not_of_a_live_challenge")
  case .keyInUse: throw Failure.keyInUse
  }
}

private struct BiometricKeyBody: Decodable {
  let deviceId: ClientDeviceID
  let publicKey: BiometricPublicKey
  let biometricType: BiometricType
  let challenge: String?
  let signature: String?

  var key: NewBiometricKey {
    get throws {
      var proof: NewBiometricKey.Proof?
      if challenge != nil || signature != nil {
        guard let challenge else { throw Failure.validation(field: "challenge", reason: "missing") }
        guard let signature else { throw Failure.validation(field: "signature", reason: "missing") }
        proof = .init(challenge: challenge, signature: signature)
      }
      return NewBiometricKey(publicKey: publicKey.text, type: biometricType, proof: proof)
    }
  }
}

extension Failure {
  /// Another account on the phone has the public key, and the app has not proven that it has the private half.
  static let keyInUse = conflict(\.keyInUse, code: "key_in_use")
}

/// `DELETE /api/mobile/auth/biometric`: removes the biometric key of the signed-in device, or of the
/// account's device that `deviceId` names in the query or in the body. Succeeds also without a key.
///
/// - Throws: ``Failure/validation``; ``Failure/notFound(_:)`` for a device that is
///   not the account's.
func removeBiometrics(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let body = request.body.isEmpty ? nil : try request.decode(DeviceChoiceBody.self)
  let device = request.queryItem("deviceId") ?? body?.deviceId?.text ?? caller.clientDeviceID
  guard try context.records.biometrics.remove(from: device, by: caller) else {
    throw Failure.notFound(\.deviceGone)
  }
  return .json { json in json.member("success", true) }
}

private struct DeviceChoiceBody: Decodable {
  let deviceId: ClientDeviceID?
}

/// `POST /api/mobile/auth/biometric/challenge`: issues a challenge that the device must sign once, within
/// five minutes. A device without a key gets one with its access token, to set up its first key.
///
/// - Throws: ``Failure/validation``; ``Failure/badRequest(_:)`` for a device
///   without a key; ``Failure/tooManyRequests(retryAfter:)``; ``Failure/invalidDeviceCredential``.
func requestChallenge(_ request: Request, in context: borrowing Context) throws -> Response {
  let device = try SigningDevice(
    clientDeviceID: request.decode(ChallengeBody.self).deviceId.text, name: nil, platform: nil,
    credentialHash: request.deviceCredentialHash)
  let challenge = base64Encoded(context.random(32))
  let expiresAt = context.now + challengeLifetime
  let isKept = try context.records.biometrics.keepChallenge(
    challenge, of: device, for: context.caller(of: request), until: expiresAt)
  guard isKept else { throw Failure.noBiometricKey }
  return .json { json in
    json.member("challenge", challenge)
    json.member("expiresAt", expiresAt.rfc3339)
  }
}

private struct ChallengeBody: Decodable {
  let deviceId: ClientDeviceID
}

/// `POST /api/mobile/auth/biometric/verify`: signs in with a signature of the challenge.
///
/// - Throws: ``Failure/validation``; ``Failure/notFound(_:)`` for a device
///   without a key; ``Failure/unauthorized(_:)``, always with the same message;
///   ``Failure/tooManyRequests(retryAfter:)`` while the device is locked;
///   ``Failure/invalidDeviceCredential``.
func signInWithBiometrics(_ request: Request, in context: borrowing Context) throws -> Response {
  let body = try request.decode(SignatureBody.self)
  let device = try SigningDevice(
    clientDeviceID: body.deviceId.text, name: nil, platform: nil,
    credentialHash: request.deviceCredentialHash)
  let outcome = try context.records.biometrics.signIn(
    withSignature: body.signature, of: body.challenge, on: device)
  switch outcome {
  case .signedIn(let account, let session):
    context.wakeCompanion()
    return .json { json in
      context.write(tokensOf: session, into: &json)
      json.member("user", object: { $0.members(of: account) })
    }
  case .unknown: throw Failure.notFound(\.noBiometricKey)
  case .refused: throw Failure.unauthorized(\.biometricsRefused)
  }
}

private struct SignatureBody: Decodable {
  let deviceId: ClientDeviceID
  let signature: String
  let challenge: String
}

/// A key of P-256: SubjectPublicKeyInfo in DER, in base64.
private struct BiometricPublicKey: SelfDescribing {
  private static let maximum = 200

  static let schema = Schema.base64.with("maxLength", .number(maximum)).example(
    """
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE2smPTHFrrHpxTKE6lsmQ86pQwdVtK5yT3SKZmLmwU3G+X2kj0T+j79tr1n1gmck06mcX4k0/aweCGhJU\
    S9SALQ==
    """)

  let text: String

  init(from decoder: any Decoder) throws {
    text = try decoder.singleValueContainer().decode(String.self)
    // A key with a named curve has 124 characters; a key with explicit curve parameters has more. The
    // answer is the same for every problem of the key.
    guard text.utf8.count <= Self.maximum, (try? BiometricKey(base64: text)) != nil else {
      throw Failure.validation(field: decoder.field, reason: "not_a_p256_public_key")
    }
  }
}

extension BiometricType: SelfDescribing {
  package init(from decoder: any Decoder) throws {
    let word = try decoder.singleValueContainer().decode(String.self)
    guard let type = BiometricType(rawValue: word) else {
      throw Failure.validation(field: decoder.field, reason: "unknown_biometric_type")
    }
    self = type
  }
}

extension Access {
  fileprivate static let askingDevice = Access(
    alternatives: [[], [.deviceCredential], [.accessToken]], errors: [.invalidDeviceCredential])
}

extension Endpoint {
  static var setUpBiometrics: Endpoint {
    Endpoint(API.setUpBiometrics) {
      Operation(
        """
        Sets the key that signs in on the signed-in device. With `challenge` and `signature`, the app proves that it has the \
        private half; without them, a key that another account has on the phone is refused.
        """, .bearer,
        body: .json(BiometricKeyBody.self),
        answers: .json(["biometricId": .string, "status": .words(["enabled"])]),
        errors: [.notFound(\.deviceGone), .freshProofRequired, .keyInUse], limits: [.biometricKeys])
    }
  }

  static var removeBiometrics: Endpoint {
    Endpoint(API.removeBiometrics) {
      Operation(
        "Removes the key of the signed-in device, or of the device that `deviceId` names.", .bearer,
        query: [.init("deviceId", "The id of a device of the account.")],
        body: .json(DeviceChoiceBody.self, isRequired: false), answers: .success,
        errors: [.notFound(\.deviceGone), .freshProofRequired])
    }
  }

  static var requestChallenge: Endpoint {
    Endpoint(API.requestChallenge) {
      Operation(
        """
        Issues a challenge that the device must sign once, within five minutes. A device without a key shows its access token, \
        to set up its first key.
        """, .askingDevice,
        body: .json(ChallengeBody.self),
        answers: .json(["challenge": .base64, "expiresAt": .time]), errors: [.noBiometricKey],
        limits: [.biometricChallenges])
    }
  }

  static var signInWithBiometrics: Endpoint {
    Endpoint(API.signInWithBiometrics) {
      Operation(
        "Signs in with a signature of the challenge.", .device, body: .json(SignatureBody.self),
        answers: .json(.tokens.merging(["user": .account])),
        errors: [.notFound(\.noBiometricKey), .unauthorized(\.biometricsRefused), .accountBanned],
        limits: [.biometricFailures, .wrongSignaturesByAddress])
    }
  }
}
