import Base
import Cryptography
import HTTP
import Store

/// `POST /api/mobile/auth/passkey/register/options`: tells a browser how to make a passkey
/// (`PublicKeyCredentialCreationOptionsJSON`, WebAuthn §5.4).
///
/// - Throws: ``Failure/tooManyPasskeys``; ``Failure/tooManyRequests(retryAfter:)``.
func startPasskeyRegistration(
  _ request: Request, in context: borrowing Context
) throws -> Response {
  let caller = try context.authenticate(request)
  let challenge = context.makePasskeyChallenge()
  let start = try context.records.passkeys.startRegistration(challenge.kept, by: caller)
  guard case .started(let account, let excluded) = start else { throw Failure.tooManyPasskeys }
  let party = context.settings.relyingParty
  return .json { json in
    json.creationOptions(challenge.text, of: party, for: account, excluding: excluded)
  }
}

/// `POST /api/mobile/auth/passkey/register/verify`: adds a passkey to the account. Until the account's address is proven,
/// no sign-in offers the passkey, and the answer has `offered` false and a `message`.
///
/// - Throws: ``Failure/validation(field:reason:value:)``; ``Failure/badRequest(_:)``, always with the
///   same message; ``Failure/conflict(_:code:)`` if the credential's id is in use;
///   ``Failure/tooManyPasskeys``; ``Failure/tooManyRequests(retryAfter:)``.
func registerPasskey(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let credential: CreatedCredential
    let name: ShortText?
  }
  let caller = try context.authenticate(request)
  let body = try request.decode(Body.self)
  let new = body.credential.passkey(named: body.name?.text ?? "Passkey")
  let outcome = try context.records.passkeys.register(
    new, at: context.settings.relyingParty, by: caller)
  switch outcome {
  case .registered(let passkey, let isOffered):
    context.wakeCompanion()
    let response = Response.json { json in
      json.member("success", true)
      json.members(of: passkey)
      guard !isOffered else { return }
      json.member("offered", false)
      json.member("message", Messages(in: request.messageLanguage).passkeyWaits)
    }
    return isOffered ? response : response.written(in: request.messageLanguage)
  case .refused: throw Failure.badRequest(\.passkeyNotAdded)
  case .taken: throw Failure.conflict(\.passkeyTaken)
  case .full: throw Failure.tooManyPasskeys
  }
}

/// `GET /api/mobile/passkeys`: the account's passkeys, the newest first.
func getPasskeys(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let passkeys = try context.records.passkeys.list(for: caller)
  return .json { json in
    json.member(
      "passkeys",
      array: { array in
        for passkey in passkeys { array.object { $0.members(of: passkey) } }
      })
  }
}

/// `DELETE /api/mobile/passkeys/:id`: removes a passkey, so that it can no longer sign in or pay. The
/// answer has the data with which a browser makes its authenticators forget the passkey
/// (`PublicKeyCredential.signalAllAcceptedCredentials`, WebAuthn Level 3 §5.1.10).
///
/// - Throws: ``Failure/notFound(_:)`` if the account has no such passkey.
func removePasskey(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard let left = try context.records.passkeys.remove(context.pathItem, by: caller) else {
    throw Failure.notFound(\.passkeyGone)
  }
  let party = context.settings.relyingParty
  return .json { json in
    json.member("success", true)
    json.member(
      "signalAllAcceptedCredentials",
      object: { signal in
        signal.member("rpId", party.id)
        signal.member("userId", base64URLEncoded(userHandle(ofAccount: caller.accountID)))
        signal.member(
          "allAcceptedCredentialIds", json: JSONWriter.array(of: left.map { base64URLEncoded($0) }))
      })
  }
}

/// `PUT /api/mobile/passkeys/:id` {name}: renames a passkey.
///
/// - Throws: ``Failure/validation(field:reason:value:)``; ``Failure/notFound(_:)`` if the account has no
///   such passkey.
func renamePasskey(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let name = try request.decode(NameBody.self).name.text
  guard try context.records.passkeys.rename(context.pathItem, to: name, by: caller) else {
    throw Failure.notFound(\.passkeyGone)
  }
  return .json { json in json.member("success", true) }
}

extension Context {
  /// Makes a challenge of 32 bytes: in base64url for the app, and hashed for the database.
  func makePasskeyChallenge() -> (text: String, kept: NewPasskeyChallenge) {
    let challenge = random(32)
    return (
      base64URLEncoded(challenge),
      NewPasskeyChallenge(hash: sha256(challenge), expiresAt: now + NewPasskeyChallenge.lifetime)
    )
  }
}

extension JSONWriter {
  /// Writes the options with which a browser asks its authenticators for an assertion
  /// (`PublicKeyCredentialRequestOptionsJSON`, WebAuthn §5.5).
  mutating func requestOptions(
    _ challenge: String, of party: RelyingParty, offering ids: [[UInt8]]
  ) {
    member("challenge", challenge)
    member("timeout", NewPasskeyChallenge.lifetime.milliseconds)
    member("rpId", party.id)
    member("allowCredentials", array: { $0.credentials(ids) })
    member("userVerification", "required")
  }

  fileprivate mutating func creationOptions(
    _ challenge: String, of party: RelyingParty, for account: Account, excluding ids: [[UInt8]]
  ) {
    member("challenge", challenge)
    member("rp", object: { $0.members(of: party) })
    member("user", object: { $0.user(account) })
    member("pubKeyCredParams", array: { $0.parameters(of: party.algorithms) })
    member("timeout", NewPasskeyChallenge.lifetime.milliseconds)
    member("excludeCredentials", array: { $0.credentials(ids) })
    member(
      "authenticatorSelection",
      object: { selection in
        selection.member("residentKey", "preferred")
        selection.member("userVerification", "required")
      })
    member("attestation", "none")
  }

  private mutating func members(of party: RelyingParty) {
    member("id", party.id)
    member("name", party.id)
  }

  private mutating func user(_ account: Account) {
    member("id", base64URLEncoded(userHandle(ofAccount: account.id)))
    member("name", account.email)
    member("displayName", account.name)
  }

  private mutating func parameters(of algorithms: [COSEKey.Algorithm]) {
    for algorithm in algorithms {
      object { parameter in
        parameter.member("type", "public-key")
        parameter.member("alg", algorithm.rawValue)
      }
    }
  }

  private mutating func credentials(_ ids: [[UInt8]]) {
    for id in ids {
      object { credential in
        credential.member("type", "public-key")
        credential.member("id", base64URLEncoded(id))
      }
    }
  }

  fileprivate mutating func members(of passkey: ListedPasskey) {
    member("id", passkey.id)
    member("name", passkey.name)
    member("createdAt", passkey.createdAt.rfc3339)
    member("lastUsedAt", passkey.lastUsedAt?.rfc3339)
  }
}

extension Failure {
  /// No account has the passkey. The answer has the data with which a browser makes its authenticators
  /// forget the passkey (`PublicKeyCredential.signalUnknownCredential`).
  static func unknownPasskey(_ credentialID: [UInt8], at party: RelyingParty) -> Failure {
    var failure = Failure.refusedPasskey
    failure.diagnostics = { json in
      json.member(
        "signalUnknownCredential",
        object: { signal in
          signal.member("rpId", party.id)
          signal.member("credentialId", base64URLEncoded(credentialID))
        })
    }
    return failure
  }

  static let refusedPasskey = Failure.unauthorized(\.passkeyRefused)

  static let tooManyPasskeys = Failure.conflict(
    \.tooManyPasskeys, code: "too_many_passkeys")
}
