import Base
import HTTP
import Store

/// `POST /api/mobile/auth/register`: creates an account and signs it in; answers 201. The `message` says how the phone
/// stays signed in when the account is first used elsewhere, see ``AddressProofs``.
///
/// - Throws: ``Failure/validation``; ``Failure/unknownDevice``;
///   ``Failure/conflict(_:code:)`` for a known e-mail address, or `device_conflict` at five accounts;
///   ``Failure/tooManyRequests(retryAfter:)``; ``Failure/invalidDeviceCredential``.
func createAccount(_ request: Request, in context: borrowing Context) throws -> Response {
  let body = try request.decode(AccountBody.self)
  let device = try request.signingDevice()
  let new = NewAccount(
    email: body.email.text, name: body.name.text, walletID: context.makeWalletID())
  switch try context.records.accounts.create(new, on: device) {
  case .signedIn(let account, let session):
    context.wakeCompanion()
    return .json(201) { json in
      context.write(account, session, into: &json)
      json.member("message", Messages(in: request.messageLanguage).confirmAddress)
    }.written(in: request.messageLanguage)
  case .emailTaken:
    throw Failure.conflict(\.accountExists)
  case .deviceFull:
    throw Failure.conflict(\.deviceFull, code: "device_conflict")
  case .deviceUnknown:
    throw Failure.unknownDevice
  }
}

private struct AccountBody: Decodable {
  let email: EmailAddress
  let name: ShortText
}

extension Context {
  /// Writes the signed-in account and the session's tokens.
  func write(_ account: Account, _ session: Session, into json: inout JSONWriter) {
    json.member("user") { user in
      user.members(of: account)
      user.member("walletId", account.walletID)
    }
    json.member("tokens") { tokens in write(tokensOf: session, into: &tokens) }
  }

  /// Returns `wsim_` and 12 random letters or digits, uniformly distributed.
  fileprivate func makeWalletID() -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    var letters: [UInt8] = []
    while letters.count < 12 {
      let fair = random(16).map { Int($0 & 63) }.filter { $0 < alphabet.count }
      letters += fair.prefix(12 - letters.count).map { alphabet[$0] }
    }
    return "wsim_" + String(decoding: letters, as: UTF8.self)
  }
}

extension JSONWriter {
  /// Writes the members of an account: `id`, `email`, `name`.
  mutating func members(of account: Account) {
    member("id", account.id)
    member("email", account.email)
    member("name", account.name)
  }

  fileprivate mutating func member(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
    member(name, object: members)
  }
}

extension Endpoint {
  static var createAccount: Endpoint {
    Endpoint(API.createAccount) {
      Operation(
        "Creates an account and signs it in.", .device,
        body: .json(AccountBody.self, SigningDeviceBody.self),
        answers: .json(
          201, .signedIn.merging(["message": .string]), meaning: "The account is new."),
        errors: [
          .unknownDevice, .conflict(\.accountExists),
          .conflict(\.deviceFull, code: "device_conflict"),
        ], limits: [.signUpsByAddress, .signUpsByDevice])
    }
  }
}

extension Schema {
  static let account: Schema = ["id": .uuid, "email": .email, "name": .string]

  static let signedIn: Schema =
    ([
      "user": account.merging(["walletId": .string]), "tokens": .tokens,
    ] as Schema).named("SignedIn")
}
