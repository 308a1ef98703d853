import Base
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
  fileprivate func account(ofConfirmation token: String) -> String? {
    LinkToken.parts(of: token, for: .confirmation, signedWith: settings.hmacKeys)?.first
  }
}

extension Response {
  fileprivate static func confirmationQuestion(
    _ account: UnprovenAccount, token: String
  ) -> Response {
    let rows = [
      ("Address", account.email.pageText), ("Phone", account.deviceName.pageText),
      ("When", account.createdAt.html),
      ("From", account.address.isEmpty ? "unknown" : account.address.pageText),
    ].map { "<div><dt>\($0)</dt><dd>\($1)</dd></div>" }
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
      <p>If you say no, the account is deleted. Until you say yes, the first sign-in with a mailed code elsewhere
      signs out the phone above.</p>
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
