import Cryptography
import FastCGI
import Store

/// Of a mailed code and its challenge.
private let codeLifetime = Duration.seconds(300)

/// `POST /api/mobile/auth/login`: mails a code. The same answer whether an account has the e-mail
/// address or not.
///
/// - Throws: ``Failure/validation(field:reason:value:)``; ``Failure/badRequest(_:)`` for an unknown
///   device; ``Failure/tooManyRequests(retryAfter:)``.
func requestCode(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let email: EmailAddress
  }
  let email = try request.decode(Body.self).email.text
  let device = try context.signingDevice(of: request)
  let challenge = base64URLEncoded(context.random(16))
  let code = context.makeCode(for: email, on: device.clientDeviceID, challenge: challenge)
  guard
    try context.database.startSignIn(
      with: code, or: nil, on: device, from: context.origin, at: context.now) == .codeMailed
  else { throw Failure.unknownDevice }
  context.knock()
  return .json { json in
    json.member("challenge", challenge)
    json.member("method", "email")
    json.member("message", "Verification code sent to email")
  }
}

/// `POST /api/mobile/auth/login/verify`: signs in with the mailed code, named by e-mail address or
/// by challenge.
///
/// - Throws: ``Failure/validation(field:reason:value:)``; ``Failure/unauthorized(_:)``, always in
///   the same words; ``Failure/invalidDeviceCredential``.
func signInWithCode(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let email: EmailAddress?
    let challenge: String?
    let code: ShortText
  }
  let body = try request.decode(Body.self)
  let device = try context.signingDevice(of: request)
  let name: LoginCodeName
  if let challenge = body.challenge {
    name = .challenge(sha256(challenge))
  } else if let email = body.email {
    name = .email(email.text)
  } else {
    throw Failure.validation(field: "email", reason: "missing")
  }
  let keys = context.settings.hmacKeys.keys
  let signedIn = try context.database.signIn(
    withCodeOf: name, on: device, from: context.origin, at: context.now
  ) { email in
    keys.map { mac(ofCode: body.code.text, for: email, on: device.clientDeviceID, under: $0) }
  }
  guard let (account, session) = signedIn else {
    throw Failure.unauthorized("Invalid or expired code")
  }
  return .json { json in context.write(account, session, into: &json) }
}

extension Context {
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
