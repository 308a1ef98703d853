import Base
import Cryptography
import HTTP
import Store

/// `POST /account/code`: mails a code. The answer is the same whether an account has the e-mail address or
/// not.
func askForCode(_ request: Request, in context: borrowing Context) throws -> Response {
  let startedAt = ContinuousClock.now
  return try context.fulfill(request) {
    let email = try EmailAddress(item: "email", of: request).text
    let (visit, cookie) = context.makeVisit(for: request)
    let device = SigningDevice(visit: visit.id, in: context.knownBrowser(of: request))
    let code = context.makeCode(for: email, on: device.clientDeviceID, challenge: cookie)
    try context.records.accountVisits.begin(visit, mailing: code, on: device)
    context.wakeCompanion()
    context.waitForAnswerTime(since: startedAt)
    return ("", cookie)
  }
}

/// `POST /account/sign-in`: signs in with the mailed code.
func signInWithCode(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.signIn(request) {
    let code = try ShortText(item: "code", of: request).text.filter { !$0.isWhitespace }
    let form = try context.sentForm(request)
    let device = SigningDevice(visit: form.visit, in: context.knownBrowser(of: request))
    let (visit, cookie) = context.makeVisit(for: request)
    // The visit's id, the hash of the cookie, is also the hash of the challenge.
    let account = try context.records.accountVisits.signIn(
      to: visit, with: .challenge(form.visit), on: device, by: form
    ) { email in context.macs(ofCode: code, for: email, on: device) }
    guard let account else {
      throw Failure.validation(
        field: "code", reason: "wrong",
        sentence: \.wrongPageCode)
    }
    return (account, cookie)
  }
}

/// `POST /account/passkey`: starts a sign-in with a passkey that the browser finds by itself.
func askForPasskey(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.fulfill(request) {
    let (visit, cookie) = context.makeVisit(for: request)
    try context.records.accountVisits.begin(visit, challenge: sha256(context.random(32)))
    return ("", cookie)
  }
}

/// `POST /account/passkey/sign-in`: signs in with the passkey's assertion.
func signInWithPasskey(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.signIn(request) {
    let form = try context.sentForm(request)
    let (visit, cookie) = context.makeVisit(for: request)
    var account: String?
    if let credential = assertedCredential(in: request) {
      account = try context.records.accountVisits.signIn(
        to: visit, with: credential.assertion, challengeHash: credential.challengeHash(nil),
        at: context.settings.relyingParty, by: form)
    }
    guard let account else {
      throw Failure.validation(
        field: "credential", reason: "refused",
        sentence: \.pagePasskeyRefused)
    }
    return (account, cookie)
  }
}

/// `POST /account/sign-out`: ends the visit.
func signOut(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.fulfill(request) {
    try context.records.accountVisits.signOut(context.sentForm(request))
    return ("signed-out", nil)
  }
}

/// `GET /account/passkey.js`: the only script of the site's pages, ``passkeyScript``.
func getPasskeyScript(_ request: Request, in context: borrowing Context) throws -> Response {
  Response(
    status: 200,
    fields: [
      ("Content-Type", "text/javascript; charset=utf-8"),
      ("Cache-Control", "public, max-age=3600"),
    ], body: Array(passkeyScript.utf8))
}

/// The form's passkey assertion; nil if it is missing or malformed.
private func assertedCredential(in request: Request) -> AssertedCredential? {
  let json = request.formItem("credential") ?? ""
  // try?: a malformed credential counts as missing.
  return try? decode(AssertedCredential.self, from: Array(json.utf8))
}

extension SigningDevice {
  /// A browser to which a code is bound. It is not stored as a device.
  fileprivate init(visit: [UInt8], in browser: KnownBrowser?) {
    self.init(
      clientDeviceID: "browser \(hexEncoded(visit))", name: nil, platform: nil,
      credentialHash: nil, browser: browser)
  }
}

extension Endpoint {
  static var askForCode: Endpoint {
    Endpoint(API.askForCode) {
      Operation.form(
        "Mails a code. The answer is the same whether an account has the e-mail address or not.",
        ["email": EmailAddress.schema], limits: .ofCodes)
    }
  }

  static var signInWithCode: Endpoint {
    Endpoint(API.signInWithCode) {
      Operation.form(
        "Signs the browser in with the mailed code.", ["code": ShortText.schema],
        limits: [.wrongCodesByAddress])
    }
  }

  static var askForPasskey: Endpoint {
    Endpoint(API.askForPasskey) {
      Operation.form("Starts a sign-in with a passkey.", [:], limits: [.passkeyStarts])
    }
  }

  static var signInWithPasskey: Endpoint {
    Endpoint(API.signInWithPasskey) {
      Operation.form(
        "Signs the browser in with the assertion of a passkey, in JSON.", ["credential": .string])
    }
  }

  static var signOut: Endpoint {
    Endpoint(API.signOut) {
      Operation.form("Signs the browser out.", [:])
    }
  }

  static var getPasskeyScript: Endpoint {
    Endpoint(API.getPasskeyScript) {
      Operation(
        "Returns the only script of the site's pages.",
        answers: .content("text/javascript", "The script."))
    }
  }
}
