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
/// - Throws: ``Failure/validation``; ``Failure/badRequest(_:)``, always with the
///   same message; ``Failure/conflict(_:code:)`` if the credential's id is in use;
///   ``Failure/tooManyPasskeys``; ``Failure/tooManyRequests(retryAfter:)``.
func registerPasskey(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let body = try request.decode(PasskeyBody.self)
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

private struct PasskeyBody: Decodable {
  let credential: CreatedCredential
  let name: ShortText?
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
/// - Throws: ``Failure/validation``; ``Failure/notFound(_:)`` if the account has no
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

extension Endpoint {
  static var startPasskeyRegistration: Endpoint {
    Endpoint(API.startPasskeyRegistration) {
      Operation(
        "Returns the options with which a browser or a phone makes a passkey.", .bearer,
        answers: .json(.creationOptions), errors: [.tooManyPasskeys, .freshProofRequired],
        limits: [.passkeyStarts, .passkeyStartsByKnownDevice])
    }
  }

  static var registerPasskey: Endpoint {
    Endpoint(API.registerPasskey) {
      Operation(
        """
        Adds a passkey to the account. Until the account's address is proven, no sign-in offers the passkey: the answer then has \
        `offered` false and a `message`.
        """, .bearer, body: .json(PasskeyBody.self),
        answers: .json(
          .passkey.merging(["success": .boolean, "offered?": .boolean, "message?": .string])),
        errors: [
          .badRequest(\.passkeyNotAdded), .conflict(\.passkeyTaken), .tooManyPasskeys,
          .freshProofRequired,
        ], limits: [.passkeyRegistrations])
    }
  }

  static var getPasskeys: Endpoint {
    Endpoint(API.getPasskeys) {
      Operation(
        "Lists the passkeys of the account, the newest first.", .bearer,
        answers: .json(["passkeys": .array(of: .passkey)]))
    }
  }

  static var removePasskey: Endpoint {
    Endpoint(API.removePasskey) {
      Operation(
        """
        Removes a passkey, so that it can no longer sign in or pay. The answer has the data with which a browser makes its \
        authenticators forget the passkey.
        """, .bearer, item: .passkey,
        answers: .json([
          "success": .boolean,
          "signalAllAcceptedCredentials": [
            "rpId": .string, "userId": .base64URL,
            "allAcceptedCredentialIds": .array(of: .base64URL),
          ],
        ]), errors: [.notFound(\.passkeyGone), .freshProofRequired])
    }
  }

  static var renamePasskey: Endpoint {
    Endpoint(API.renamePasskey) {
      Operation(
        "Renames a passkey.", .bearer, item: .passkey, body: .json(NameBody.self),
        answers: .success, errors: [.notFound(\.passkeyGone)])
    }
  }
}

extension Operation.Item {
  fileprivate static let passkey = Self("The id of a passkey of the account.")
}

extension JSONWriter {
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

extension Schema {
  fileprivate static let passkey: Schema =
    ([
      "id": .string, "name": .string, "createdAt": .time, "lastUsedAt": .time.orNull,
    ] as Schema).named("Passkey")
}
