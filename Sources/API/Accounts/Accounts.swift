import Base
import Cryptography
import HTTP
import Store

/// `POST /api/mobile/auth/register`: makes an account and signs it in. 201.
///
/// - Throws: ``Failure/validation(field:reason:value:)``; ``Failure/badRequest(_:)`` for an unknown
///   device; ``Failure/conflict(_:code:)`` for a known e-mail address, or `device_conflict` at five
///   accounts; ``Failure/invalidDeviceCredential``.
func createAccount(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let email: EmailAddress
    let name: ShortText
  }
  let body = try request.decode(Body.self)
  let device = try context.signingDevice(of: request)
  let new = NewAccount(
    email: body.email.text, name: body.name.text, walletID: context.makeWalletID())
  let outcome = try context.database.createAccount(
    new, on: device, from: context.origin, at: context.now)
  switch outcome {
  case .signedIn(let account, let session):
    return .json(201) { json in context.write(account, session, into: &json) }
  case .emailTaken:
    throw Failure.conflict("An account with this email already exists. Use login instead.")
  case .deviceFull:
    throw Failure.conflict(
      "This device is already registered. Use login instead.", code: "device_conflict")
  case .deviceUnknown:
    throw Failure.unknownDevice
  }
}

/// `GET /api/mobile/wallet/summary`: who is signed in, with cards and banks.
///
/// - Throws: ``Failure/notFound(_:)`` where the account is gone.
func getSummary(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard let summary = try context.database.summary(of: caller, at: context.now) else {
    throw Failure.notFound("Account not found")
  }
  return .json { json in
    json.member("user", object: { $0.members(of: summary.account) })
    json.write(summary.cards)
    json.member(
      "enrolledBanks",
      array: { array in
        for bank in summary.banks { array.object { $0.members(of: bank) } }
      })
    json.member("biometricEnabled", summary.biometricEnabled)
  }
}

extension Context {
  /// The device that signs in, as the body describes it.
  ///
  /// - Throws: ``Failure/validation(field:reason:value:)``.
  func signingDevice(of request: Request) throws -> SigningDevice {
    struct Body: Decodable {
      let deviceId: ClientDeviceID
      let deviceName: ShortText?
      let platform: DevicePlatform?
    }
    let body = try request.decode(Body.self)
    return SigningDevice(
      clientDeviceID: body.deviceId.text, name: body.deviceName?.text, platform: body.platform,
      credentialHash: request.deviceCredentialHash)
  }

  /// Writes who has signed in, and the tokens.
  func write(_ account: Account, _ session: Session, into json: inout JSONWriter) {
    json.member("user") { user in
      user.members(of: account)
      user.member("walletId", account.walletID)
    }
    json.member("tokens") { tokens in write(tokensOf: session, into: &tokens) }
  }

  /// `wsim_` and 12 letters or digits, each as likely as any other.
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

extension Failure {
  static let unknownDevice = Failure.badRequest(
    "Device not registered: register it first, or send deviceName and platform")
}

extension JSONWriter {
  /// Writes who an account belongs to: `id`, `email`, `name`.
  mutating func members(of account: Account) {
    member("id", account.id)
    member("email", account.email)
    member("name", account.name)
  }

  fileprivate mutating func members(of bank: EnrolledBank) {
    member("bsimId", bank.bsimID)
    member("name", bank.name)
    member("cardCount", bank.cardCount)
  }

  fileprivate mutating func member(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
    member(name, object: members)
  }
}
