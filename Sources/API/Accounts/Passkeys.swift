import Base
import Cryptography
import HTTP
import Store

/// Of a challenge, and how long browsers wait for their person.
private let challengeLifetime = Duration.seconds(300)

/// `POST /api/mobile/auth/passkey/register/options`: what a browser makes a passkey from, itself a
/// `PublicKeyCredentialCreationOptionsJSON` (WebAuthn §5.4).
///
/// - Throws: ``Failure/tooManyPasskeys``; ``Failure/tooManyRequests(retryAfter:)``.
func startPasskeyRegistration(
  _ request: Request, in context: borrowing Context
) throws -> Response {
  let caller = try context.authenticate(request)
  let challenge = context.makePasskeyChallenge()
  let start = try context.database.startPasskeyRegistration(
    challenge.kept, by: caller, at: context.now)
  guard case .started(let account, let excluded) = start else { throw Failure.tooManyPasskeys }
  let party = context.settings.relyingParty
  return .json { json in
    json.member("challenge", challenge.text)
    json.member(
      "rp",
      object: { rp in
        rp.member("id", party.id)
        rp.member("name", party.id)
      })
    json.member(
      "user",
      object: { user in
        user.member("id", base64URLEncoded(userHandle(ofAccount: account.id)))
        user.member("name", account.email)
        user.member("displayName", account.name)
      })
    json.member("pubKeyCredParams", array: { $0.parameters(of: party.algorithms) })
    json.member("timeout", challengeLifetime.milliseconds)
    json.member("excludeCredentials", array: { $0.credentials(excluded) })
    json.member(
      "authenticatorSelection",
      object: { selection in
        selection.member("residentKey", "preferred")
        selection.member("userVerification", "required")
      })
    json.member("attestation", "none")
  }
}

/// `POST /api/mobile/auth/passkey/register/verify`: adds a passkey to the account.
///
/// - Throws: ``Failure/validation(field:reason:value:)``; ``Failure/badRequest(_:)``, always in the same words;
///   ``Failure/conflict(_:code:)`` where the credential's id is in use; ``Failure/tooManyPasskeys``;
///   ``Failure/tooManyRequests(retryAfter:)``.
func registerPasskey(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let credential: CredentialJSON<AttestationResponse>
    let name: ShortText?
  }
  let caller = try context.authenticate(request)
  let body = try request.decode(Body.self)
  let response = body.credential.response
  let new = NewPasskey(
    name: body.name?.text ?? "Passkey", clientDataJSON: response.clientDataJSON,
    attestationObject: response.attestationObject,
    challengeHash: challengeHash(nil, clientData: response.clientDataJSON))
  let outcome = try context.database.register(
    new, at: context.settings.relyingParty, by: caller, at: context.now)
  switch outcome {
  case .registered(let passkey):
    return .json { json in
      json.member("success", true)
      json.members(of: passkey)
    }
  case .refused: throw Failure.badRequest("Invalid passkey or expired challenge")
  case .taken: throw Failure.conflict("The passkey is registered already")
  case .full: throw Failure.tooManyPasskeys
  }
}

/// `GET /api/mobile/passkeys`: the account's passkeys, the newest first.
func getPasskeys(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let passkeys = try context.database.passkeys(of: caller, at: context.now)
  return .json { json in
    json.member(
      "passkeys",
      array: { array in
        for passkey in passkeys { array.object { $0.members(of: passkey) } }
      })
  }
}

/// `DELETE /api/mobile/passkeys/:id`: the passkey signs in and pays no more.
///
/// - Throws: ``Failure/notFound(_:)`` for a passkey that is not the account's.
func removePasskey(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard try context.database.removePasskey(context.pathItem, by: caller, at: context.now) else {
    throw Failure.notFound("Passkey not found")
  }
  return .json { json in json.member("success", true) }
}

/// `GET /.well-known/apple-app-site-association`: the apps that may use the site's passkeys on Apple's devices
/// (Apple, Supporting associated domains).
///
/// - Throws: ``Failure/notFound(_:)`` where no app is named.
func getAssociatedApps(_ request: Request, in context: borrowing Context) throws -> Response {
  guard let ids = context.settings.attestation.apps?.appIDs, !ids.isEmpty else {
    throw Failure.notFound()
  }
  var response = Response.json { json in
    json.member("webcredentials", object: { $0.member("apps", json: JSONWriter.array(of: ids)) })
  }
  response.fields.append(("Cache-Control", "public, max-age=3600"))
  return response
}

extension Context {
  /// A fresh challenge of 32 bytes: in base64url for the app, and as it is kept.
  func makePasskeyChallenge() -> (text: String, kept: NewPasskeyChallenge) {
    let challenge = random(32)
    return (
      base64URLEncoded(challenge),
      NewPasskeyChallenge(hash: sha256(challenge), expiresAt: now + challengeLifetime)
    )
  }
}

/// The assertion of a passkey, in JSON as browsers make it.
struct AssertedCredential: Decodable {
  let assertion: PasskeyAssertion

  init(from decoder: any Decoder) throws {
    let credential = try CredentialJSON<AssertionResponse>(from: decoder)
    assertion = PasskeyAssertion(
      credentialID: credential.id, clientDataJSON: credential.response.clientDataJSON,
      authenticatorData: credential.response.authenticatorData,
      signature: credential.response.signature, userHandle: credential.response.userHandle)
  }

  /// SHA-256 of the challenge that the assertion is to answer: `named` in base64url, or else the one that its client
  /// data name. Of one that is none it is no challenge's.
  func challengeHash(_ named: String?) -> [UInt8] {
    API.challengeHash(named, clientData: assertion.clientDataJSON)
  }
}

private func challengeHash(_ named: String?, clientData json: [UInt8]) -> [UInt8] {
  let challenge =
    if let named { base64URLDecoded(named) } else { Cryptography.challenge(inClientData: json) }
  return sha256(challenge ?? [])
}

/// A `PublicKeyCredential` in JSON (WebAuthn §5.1.8).
private struct CredentialJSON<Response: Decodable>: Decodable {
  let id: [UInt8]
  let response: Response

  private enum Member: String, CodingKey { case id, rawId, type, response }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Member.self)
    id = try members.bytes(.id, atMost: 1023)
    guard try members.bytes(.rawId, atMost: 1023) == id else {
      throw members.failure(.rawId, "not_the_id")
    }
    guard try members.decode(String.self, forKey: .type) == "public-key" else {
      throw members.failure(.type, "unknown_type")
    }
    response = try members.decode(Response.self, forKey: .response)
  }
}

/// `AuthenticatorAttestationResponse`
private struct AttestationResponse: Decodable {
  let clientDataJSON: [UInt8]
  let attestationObject: [UInt8]

  private enum Member: String, CodingKey { case clientDataJSON, attestationObject }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Member.self)
    clientDataJSON = try members.bytes(.clientDataJSON, atMost: 4096)
    // With a statement that nobody asked for, and its certificates.
    attestationObject = try members.bytes(.attestationObject, atMost: 16_384)
  }
}

/// `AuthenticatorAssertionResponse`
private struct AssertionResponse: Decodable {
  let clientDataJSON: [UInt8]
  let authenticatorData: [UInt8]
  let signature: [UInt8]
  let userHandle: [UInt8]?

  private enum Member: String, CodingKey {
    case clientDataJSON, authenticatorData, signature, userHandle
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Member.self)
    clientDataJSON = try members.bytes(.clientDataJSON, atMost: 4096)
    authenticatorData = try members.bytes(.authenticatorData, atMost: 4096)
    signature = try members.bytes(.signature, atMost: 512)  // of RSA with 4,096 bits
    // Where there is none, some say so with an empty one.
    let handle = try members.decodeIfPresent(String.self, forKey: .userHandle) ?? ""
    userHandle = handle.isEmpty ? nil : try members.bytes(.userHandle, atMost: 64)
  }
}

extension KeyedDecodingContainer {
  /// The bytes of a member in base64url without padding: at least one.
  fileprivate func bytes(_ key: Key, atMost count: Int) throws -> [UInt8] {
    let text = try decode(String.self, forKey: key)
    guard text.utf8.count <= (count * 4 + 2) / 3 else { throw failure(key, "too_long") }
    guard let bytes = base64URLDecoded(text), !bytes.isEmpty else {
      throw failure(key, "not_base64url")
    }
    return bytes
  }

  fileprivate func failure(_ key: Key, _ reason: String) -> Failure {
    let path = codingPath.map(\.stringValue) + [key.stringValue]
    return .validation(field: path.joined(separator: "."), reason: reason)
  }
}

extension JSONWriter {
  /// Writes what a browser is to ask its authenticators for: `PublicKeyCredentialRequestOptionsJSON` (WebAuthn §5.5).
  mutating func requestOptions(_ challenge: String, of party: RelyingParty, offering ids: [[UInt8]])
  {
    member("challenge", challenge)
    member("timeout", challengeLifetime.milliseconds)
    member("rpId", party.id)
    member("allowCredentials", array: { $0.credentials(ids) })
    member("userVerification", "required")
  }

  fileprivate mutating func members(of passkey: ListedPasskey) {
    member("id", passkey.id)
    member("name", passkey.name)
    member("createdAt", passkey.createdAt.rfc3339)
    member("lastUsedAt", passkey.lastUsedAt?.rfc3339)
  }

  fileprivate mutating func parameters(of algorithms: [COSEKey.Algorithm]) {
    for algorithm in algorithms {
      object { parameter in
        parameter.member("type", "public-key")
        parameter.member("alg", algorithm.rawValue)
      }
    }
  }

  fileprivate mutating func credentials(_ ids: [[UInt8]]) {
    for id in ids {
      object { credential in
        credential.member("type", "public-key")
        credential.member("id", base64URLEncoded(id))
      }
    }
  }
}

extension Failure {
  static let tooManyPasskeys = Failure.conflict(
    "The account has as many passkeys as it may have", code: "too_many_passkeys")
}
