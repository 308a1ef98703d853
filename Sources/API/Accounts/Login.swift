import Base
import Cryptography
import Glibc
import HTTP
import Store

/// Of a mailed code and its challenge.
private let codeLifetime = Duration.seconds(300)

/// Logins are answered this long after they came, or a multiple of it, and up to ten milliseconds by chance: the
/// statements are the same whether an account has the e-mail address or not, but the database takes a little longer
/// where it finds one.
private let answerInterval = Duration.milliseconds(30)

/// `POST /api/mobile/auth/login`: offers the account's passkeys, or mails a code where it has none or `method` is
/// `email`. Where no passkey is, the same answer whether an account has the e-mail address or not.
///
/// - Throws: ``Failure/validation(field:reason:value:)``; ``Failure/badRequest(_:)`` for an unknown
///   device; ``Failure/tooManyRequests(retryAfter:)``.
func startSignIn(_ request: Request, in context: borrowing Context) throws -> Response {
  enum Method: String, Decodable { case email, passkey }
  struct Body: Decodable {
    let email: EmailAddress
    let method: Method?
  }
  let begin = ContinuousClock.now
  let body = try request.decode(Body.self)
  let email = body.email.text
  let device = try context.signingDevice(of: request)
  let challenge = base64URLEncoded(context.random(16))
  let code = context.makeCode(for: email, on: device.clientDeviceID, challenge: challenge)
  let passkeyChallenge = context.makePasskeyChallenge()
  let start = try context.database.startSignIn(
    with: code, or: body.method == .email ? nil : passkeyChallenge.kept, on: device,
    from: context.origin, at: context.now)
  context.knock()
  context.waitForAnswerTime(since: begin)
  switch start {
  case .codeMailed:
    return .json { json in
      json.member("challenge", challenge)
      json.member("method", "email")
      json.member("message", "Verification code sent to email")
    }
  case .passkey(let offered):
    let party = context.settings.relyingParty
    return .json { json in
      json.member("challenge", passkeyChallenge.text)
      json.member("method", "passkey")
      json.member("message", "Sign in with a passkey")
      json.member("emailFallback", true)
      json.member(
        "passkeyOptions",
        object: { $0.requestOptions(passkeyChallenge.text, of: party, offering: offered) })
    }
  case .deviceUnknown: throw Failure.unknownDevice
  }
}

/// `POST /api/mobile/auth/login/verify`: signs in with the mailed code, named by e-mail address or
/// by challenge, or with the assertion of a passkey, which names its challenge itself.
///
/// - Throws: ``Failure/validation(field:reason:value:)``; ``Failure/unauthorized(_:)``, for each of both always in
///   the same words; ``Failure/invalidDeviceCredential``.
func signIn(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let email: EmailAddress?
    let challenge: String?
    let code: ShortText?
    let credential: AssertedCredential?
  }
  let body = try request.decode(Body.self)
  let device = try context.signingDevice(of: request)
  let signedIn: (Account, Session)?
  if let credential = body.credential {
    let given = PasskeySignIn(
      assertion: credential.assertion, challengeHash: credential.challengeHash(body.challenge),
      email: body.email?.text)
    signedIn = try context.database.signIn(
      with: given, at: context.settings.relyingParty, on: device, from: context.origin,
      at: context.now)
  } else {
    guard let code = body.code else { throw Failure.validation(field: "code", reason: "missing") }
    signedIn = try context.signIn(
      withCode: code.text, of: try LoginCodeName(email: body.email, challenge: body.challenge),
      on: device)
  }
  guard let (account, session) = signedIn else {
    throw Failure.unauthorized(
      body.credential == nil ? "Invalid or expired code" : "Invalid passkey or expired challenge")
  }
  return .json { json in context.write(account, session, into: &json) }
}

extension Context {
  /// Waits for the next time at which a login that came at `begin` may be answered.
  fileprivate func waitForAnswerTime(since begin: ContinuousClock.Instant) {
    _ = beginWaiting()  // where too many wait already, this one does not let another run
    let late = (ContinuousClock.now - begin) / .microseconds(1)
    let interval = answerInterval / .microseconds(1)
    let chance = random(2).reduce(0) { $0 << 8 | useconds_t($1) } % 10_000
    usleep(useconds_t(interval - late.truncatingRemainder(dividingBy: interval)) + chance)
  }
}

extension LoginCodeName {
  /// - Throws: ``Failure/validation(field:reason:value:)`` where neither is given.
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

extension Context {
  /// - Returns: nil where the code is wrong, expired, spent or dead.
  fileprivate func signIn(
    withCode code: String, of name: LoginCodeName, on device: SigningDevice
  ) throws -> (Account, Session)? {
    let keys = settings.hmacKeys.keys
    return try database.signIn(withCodeOf: name, on: device, from: origin, at: now) { email in
      keys.map { mac(ofCode: code, for: email, on: device.clientDeviceID, under: $0) }
    }
  }

  /// A fresh code of six digits: its MAC for the database, and the code itself sealed for the
  /// companion.
  fileprivate func makeCode(
    for email: String, on clientDeviceID: String, challenge: String
  ) -> NewLoginCode {
    let digits = makeDigits()
    let mailID = timeOrderedUUID(milliseconds: now.milliseconds)
    return NewLoginCode(
      email: email, challengeHash: sha256(challenge),
      codeMAC: mac(
        ofCode: digits, for: email, on: clientDeviceID, under: settings.hmacKeys.newest),
      mailID: mailID,
      sealed: seal(
        Array(digits.utf8), authenticating: Mail.sealingContext(mailID),
        with: settings.credentialKeys),
      expiresAt: now + codeLifetime)
  }
}

extension Context {
  /// Six decimal digits, each number as likely as any other.
  private func makeDigits() -> String {
    while true {
      let number = random(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      guard number < 4_294_000_000 else { continue }
      let digits = String(number % 1_000_000)
      return String(repeating: "0", count: 6 - digits.count) + digits
    }
  }
}

private func mac(
  ofCode code: String, for email: String, on clientDeviceID: String, under key: Key
) -> [UInt8] {
  hmacSHA256("login code\n\(email)\n\(clientDeviceID)\n\(code)", with: key)
}
