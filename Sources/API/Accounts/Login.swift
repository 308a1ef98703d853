import Base
import Cryptography
import Glibc
import HTTP
import Store

/// The interval of answers to logins: an answer waits until a multiple of this after the request, and up
/// to 10 ms more at random. The statements are the same whether an account has the e-mail address or not,
/// but the database takes a little longer if it finds an account.
private let answerInterval = Duration.milliseconds(30)

/// `POST /api/mobile/auth/login`: offers the account's passkeys. Mails a code if the account has no
/// passkeys or `method` is `email`; the answer is the same whether an account has the e-mail address or
/// not. With `method` `passkey` and without `email`, any passkey of the site may answer.
///
/// - Throws: ``Failure/validation``; ``Failure/unknownDevice``;
///   ``Failure/tooManyRequests(retryAfter:)``; ``Failure/invalidDeviceCredential``.
func startSignIn(_ request: Request, in context: borrowing Context) throws -> Response {
  let startedAt = ContinuousClock.now
  let body = try request.decode(SignInStartBody.self)
  let device = try request.signingDevice()
  guard let email = body.email else {
    guard body.method == .passkey else {
      throw Failure.validation(field: "email", reason: "missing")
    }
    return try context.startPasskeySignIn(on: device, in: request.messageLanguage)
  }
  let challenge = base64URLEncoded(context.random(16))
  let code = context.makeCode(
    for: email.text, on: device.clientDeviceID, challenge: challenge)
  let passkeyChallenge = context.makePasskeyChallenge()
  let start = try context.records.loginCodes.start(
    with: code, or: body.method == .email ? nil : passkeyChallenge.kept, on: device)
  context.wakeCompanion()
  context.waitForAnswerTime(since: startedAt)
  switch start {
  case .codeMailed:
    return .json { json in
      json.member("challenge", challenge)
      json.member("method", "email")
      json.member("message", Messages(in: request.messageLanguage).codeSent)
    }.written(in: request.messageLanguage)
  case .passkey(let offered):
    return context.passkeyOffer(passkeyChallenge.text, of: offered, in: request.messageLanguage)
  case .deviceUnknown: throw Failure.unknownDevice
  }
}

private struct SignInStartBody: Decodable {
  enum Method: String, SelfDescribing, CaseIterable { case email, passkey }
  let email: EmailAddress?
  let method: Method?
}

/// `POST /api/mobile/auth/login/verify`: signs in with the mailed code, found by e-mail address or by
/// challenge, or with the assertion of a passkey, which contains its challenge.
///
/// - Throws: ``Failure/validation``; ``Failure/unauthorized(_:)``, always with
///   the same message for a code, and with another for a passkey; ``Failure/accountBanned``;
///   ``Failure/tooManyRequests(retryAfter:)``; ``Failure/invalidDeviceCredential``.
func signIn(_ request: Request, in context: borrowing Context) throws -> Response {
  let body = try request.decode(SignInBody.self)
  let device = try request.signingDevice()
  let outcome: SignInOutcome
  if let credential = body.credential {
    let given = PasskeySignIn(
      assertion: credential.assertion, challengeHash: credential.challengeHash(body.challenge),
      email: body.email?.text)
    outcome = try context.records.passkeys.signIn(
      with: given, at: context.settings.relyingParty, on: device)
  } else {
    guard let code = body.code else { throw Failure.validation(field: "code", reason: "missing") }
    outcome = try context.signIn(
      withCode: code.text, of: try LoginCodeName(email: body.email, challenge: body.challenge),
      on: device, bearer: context.caller(of: request))
  }
  switch outcome {
  case .signedIn(let account, let session):
    context.wakeCompanion()
    return .json { json in context.write(account, session, into: &json) }
  case .unknownPasskey:
    throw Failure.unknownPasskey(
      body.credential?.assertion.credentialID ?? [], at: context.settings.relyingParty)
  case .refused:
    throw body.credential == nil
      ? Failure.unauthorized(\.wrongCode) : .refusedPasskey
  }
}

private struct SignInBody: Decodable {
  let email: EmailAddress?
  let challenge: String?
  let code: ShortText?
  let credential: AssertedCredential?
}

extension Context {
  /// Starts a sign-in that any passkey of the site may answer.
  fileprivate func startPasskeySignIn(
    on device: SigningDevice, in language: Language
  ) throws -> Response {
    let challenge = makePasskeyChallenge()
    guard try records.passkeys.startSignIn(with: challenge.kept, on: device) else {
      throw Failure.unknownDevice
    }
    return passkeyOffer(challenge.text, of: [], in: language)
  }

  fileprivate func passkeyOffer(
    _ challenge: String, of offered: [[UInt8]], in language: Language
  ) -> Response {
    let party = settings.relyingParty
    return .json { json in
      json.member("challenge", challenge)
      json.member("method", "passkey")
      json.member("message", Messages(in: language).usePasskey)
      json.member("emailFallback", true)
      json.member(
        "passkeyOptions",
        object: { $0.requestOptions(challenge, of: party, offering: offered) })
    }.written(in: language)
  }

  /// Waits until a login that arrived at `startedAt` may get its answer.
  func waitForAnswerTime(since startedAt: ContinuousClock.Instant) {
    _ = beginWaiting()  // if too many requests wait, this request waits without another thread
    let elapsed = (ContinuousClock.now - startedAt) / .microseconds(1)
    let interval = answerInterval / .microseconds(1)
    let chance = random(2).reduce(0) { $0 << 8 | useconds_t($1) } % 10_000
    usleep(useconds_t(interval - elapsed.truncatingRemainder(dividingBy: interval)) + chance)
  }
}

extension LoginCodeName {
  /// - Throws: ``Failure/validation`` if both are nil.
  fileprivate init(email: EmailAddress?, challenge: String?) throws {
    if let challenge {
      self = .challenge(sha256(challenge))
    } else if let email {
      self = .email(email.text)
    } else {
      throw Failure.validation(field: "email", reason: "missing")
    }
  }
}

extension Endpoint {
  static var startSignIn: Endpoint {
    Endpoint(API.startSignIn) {
      Operation(
        """
        Offers the account's passkeys, or mails a code. It mails a code if the account has no passkeys or `method` is `email`. \
        With `method` `passkey` and without `email`, any passkey of the site may answer.
        """, .device, body: .json(SignInStartBody.self, SigningDeviceBody.self),
        answers: .json(
          [
            "challenge": .string, "method": .words(["email", "passkey"]), "message": .string,
            "emailFallback?": .boolean, "passkeyOptions?": .requestOptions,
          ], meaning: "The code is mailed, or the options are for the device's authenticator."),
        errors: [.unknownDevice], limits: .ofCodes + [.passkeyStarts, .passkeyStartsByKnownDevice])
    }
  }

  static var signIn: Endpoint {
    Endpoint(API.signIn) {
      Operation(
        "Signs in with the mailed `code`, found by `email` or `challenge`, or with a passkey.",
        .device, body: .json(SignInBody.self, SigningDeviceBody.self),
        answers: .json(.signedIn),
        errors: [
          .unauthorized(\.wrongCode), .refusedPasskey, .accountBanned,
          .unknownPasskey([0], at: RelyingParty(id: "", origins: [])),
        ], limits: [.wrongCodesByAddress])
    }
  }
}

extension [Limit] {
  /// The limits of the codes that are mailed.
  static let ofCodes: [Limit] = [
    .codesByKnownDevice, .codesByAddress, .codesByEmail, .codesByDevice, .codesADayByNetwork,
    .codesADay,
  ]
}
