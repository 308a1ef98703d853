import Base
import Cryptography
import HTTP
import Store

/// `POST /api/mobile/auth/login/password`: signs in the app whose only screen asks for a password.
///
/// The server has no passwords. Six digits are a mailed code. Any other text mails a code, and the app
/// shows the message of the answer, which says so. The answer is the same whether an account has the
/// e-mail address or not. Does not offer passkeys: the screen cannot use them.
///
/// - Throws: ``Failure/codeMailed``; ``Failure/validation``;
///   ``Failure/unauthorized(_:)`` for a wrong code; ``Failure/unknownDevice``;
///   ``Failure/tooManyRequests(retryAfter:)``; ``Failure/invalidDeviceCredential``.
func signInWithPassword(_ request: Request, in context: borrowing Context) throws -> Response {
  let startedAt = ContinuousClock.now
  let body = try request.decode(PasswordBody.self)
  let device = try request.signingDevice()
  guard let typed = body.password?.code else {
    let start = try context.mailCode(to: body.email, on: device)
    context.waitForAnswerTime(since: startedAt)
    throw start == .codeMailed ? Failure.codeMailed : .unknownDevice
  }
  let outcome = try context.signIn(
    withCode: typed, of: .email(body.email.text), on: device, bearer: context.caller(of: request))
  guard case .signedIn(let account, let session) = outcome else {
    throw Failure.unauthorized(\.wrongCode)
  }
  context.wakeCompanion()
  return .json { json in context.write(account, session, into: &json) }
}

private struct PasswordBody: Decodable {
  let email: EmailAddress
  let password: TypedPassword?
}

extension Context {
  /// - Throws: ``RateLimited``.
  fileprivate func mailCode(
    to email: EmailAddress, on device: SigningDevice
  ) throws -> SignInStart {
    let code = makeCode(
      for: email.text, on: device.clientDeviceID, challenge: base64URLEncoded(random(16)))
    let start = try records.loginCodes.start(with: code, or: nil, on: device)
    wakeCompanion()
    return start
  }
}

/// The text typed as a password. Keeps only a mailed code.
private struct TypedPassword: SelfDescribing {
  static let schema = Schema.any.example("123456")

  /// Six digits.
  let code: String?

  init(from decoder: any Decoder) throws {
    // try?: a value that is not text is not a code, so the handler mails a code.
    let text = (try? decoder.singleValueContainer().decode(String.self))?.trimmed ?? ""
    let isCode = text.utf8.count == 6 && text.utf8.allSatisfy(\.isDigit)
    code = isCode ? text : nil
  }
}

extension Failure {
  fileprivate static let codeMailed = Failure(
    status: 400, code: "code_mailed", sentence: \.codeMailed)
}

extension Endpoint {
  static var signInWithPassword: Endpoint {
    Endpoint(API.signInWithPassword) {
      Operation(
        """
        Signs in an app that asks for a password. The server has no passwords: six digits are a mailed code, and any other text \
        mails one. The answer is then 400 with `code_mailed`.
        """, .device, body: .json(PasswordBody.self, SigningDeviceBody.self),
        answers: .json(.signedIn),
        errors: [.codeMailed, .unknownDevice, .unauthorized(\.wrongCode), .accountBanned],
        limits: .ofCodes + [.wrongCodesByAddress])
    }
  }
}
