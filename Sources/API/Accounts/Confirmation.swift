import Base
import Cryptography
import HTTP
import Store

/// `GET /account/confirm?token=…`: asks the person who got the mail whether the account is theirs.
/// It changes nothing, since programs follow the links of mails too.
func askForConfirmation(_ request: Request, in context: borrowing Context) throws -> Response {
  let token = request.queryItem("token") ?? ""
  guard let accountID = context.account(ofConfirmation: token),
    let account = try context.records.addressProofs.unproven(accountID)
  else { return .confirmationEnded }
  return .confirmationQuestion(account, token: token)
}

/// `POST /account/confirm`: the answer. Yes proves the address, and no deletes the account.
///
/// - Throws: ``Failure/badRequest(_:)`` where the form lacks the answer.
func confirmAccount(_ request: Request, in context: borrowing Context) throws -> Response {
  guard let accountID = context.account(ofConfirmation: request.formItem("token") ?? "") else {
    return .confirmationEnded
  }
  let proofs = context.records.addressProofs
  let outcome =
    switch request.formItem("answer") {
    case "yes": try proofs.confirm(accountID)
    case "no": try proofs.deny(accountID)
    default: throw Failure.badRequest("The form has no answer")
    }
  return switch outcome {
  case .confirmed:
    Page(title: "Thank you", content: "<p>Your address is confirmed. You can close this page.</p>")
      .response()
  case .denied:
    Page(
      title: "The account is deleted",
      content: "<p>Nobody can use it any more. You need not do anything else.</p>"
    ).response()
  case .gone: .confirmationEnded
  }
}

extension Context {
  /// The mail that asks the owner of `email` whether the account is theirs.
  func confirmationMail(of accountID: String, to email: String) -> Mail {
    let id = timeOrderedUUID(milliseconds: now.milliseconds)
    let token = "\(accountID).\(Self.confirmationMAC(of: accountID, settings.hmacKeys.newest))"
    let sealed = seal(
      Array(token.utf8), authenticating: Mail.sealingContext(id), with: settings.credentialKeys)
    return Mail(
      id: id, kind: .emailConfirmation, recipient: email, sealed: sealed, accountID: accountID)
  }

  /// The account that a token of ours is about; it may have gone since.
  fileprivate func account(ofConfirmation token: String) -> String? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else { return nil }
    let isOurs = settings.hmacKeys.keys.contains {
      isEqualInConstantTime(
        Array(Self.confirmationMAC(of: parts[0], $0).utf8), Array(parts[1].utf8))
    }
    return isOurs ? parts[0] : nil
  }

  /// Of an account's id alone, so that nothing must be kept. It is of use until the address is proven.
  private static func confirmationMAC(of accountID: String, _ key: Key) -> String {
    base64URLEncoded(hmacSHA256("e-mail confirmation\n\(accountID)", with: key))
  }
}

extension Response {
  fileprivate static func confirmationQuestion(
    _ account: UnprovenAccount, token: String
  ) -> Response {
    let rows = [
      ("Address", account.email), ("Phone", account.deviceName),
      ("When", account.createdAt.rfc3339),
      ("From", account.address.isEmpty ? "unknown" : account.address),
    ].map { "<div><dt>\($0)</dt><dd><bdi>\($1.htmlEscaped)</bdi></dd></div>" }
    let content = """
      <p>Somebody has created an account with your e-mail address.</p>
      <dl>
      \(rows.joined(separator: "\n"))
      </dl>
      <form method="post" action="/account/confirm">
      <input type="hidden" name="token" value="\(token.htmlEscaped)">
      <p><button name="answer" value="yes">Yes, this is me</button></p>
      <p><button name="answer" value="no">No, this is not me</button></p>
      </form>
      <p>If you say no, the account is deleted.</p>
      """
    return Page(title: "Is this you?", content: content).response()
  }

  /// The address is proven, or there is no such account. Both look alike.
  fileprivate static var confirmationEnded: Response {
    Page(
      title: "Nothing to confirm",
      content: "<p>This link was used before, or the account no longer exists.</p>"
    ).response(status: 404)
  }
}
