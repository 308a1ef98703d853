import Base
import Cryptography
import HTTP
import Store

/// `GET /account/address?token=…`: asks the person who got the mail whether the account is to have this
/// address. It changes nothing, since programs follow the links of mails too.
func askForAddressChange(_ request: Request, in context: borrowing Context) throws -> Response {
  let token = request.queryItem("token") ?? ""
  guard let wanted = try context.records.addressChanges.wanted(by: sha256(token)) else {
    return .addressChangeEnded
  }
  return .addressChangeQuestion(wanted, token: token)
}

/// `POST /account/address`: gives the account the address. Its old address is told.
func changeAddress(_ request: Request, in context: borrowing Context) throws -> Response {
  let token = request.formItem("token") ?? ""
  guard try context.records.addressChanges.complete(sha256(token)) else {
    return .addressChangeEnded
  }
  context.wakeCompanion()
  return Page(
    title: "Your address is changed",
    content: "<p>Your account has the new address now. You can close this page.</p>"
  ).response()
}

extension Context {
  func makeAddressChange(to email: String) -> NewAddressChange {
    NewAddressChange(email: email, token: base64URLEncoded(random(32)))
  }
}

extension Response {
  /// Shows whose account it is. A stranger may have asked: if the person took the stranger's account for their own, their
  /// sign-ins would open it.
  fileprivate static func addressChangeQuestion(_ wanted: WantedAddress, token: String) -> Response
  {
    let rows = [
      ("Name", wanted.name.pageText),
      ("Phone", wanted.deviceName?.pageText ?? "none is signed in"),
      ("Account since", wanted.createdAt.html),
    ].map { "<div><dt>\($0)</dt><dd>\($1)</dd></div>" }
    let content = """
      <p>Somebody who is signed in to this account wants it to have the address \
      <strong>\(wanted.email.pageText)</strong>:</p>
      <dl>
      \(rows.joined(separator: "\n"))
      </dl>
      <p>Only go on if this account is yours. From then on you sign in to it with the address, and codes are mailed
      there.</p>
      <form method="post" action="/account/address">
      <input type="hidden" name="token" value="\(token.htmlEscaped)">
      <p><button>Use this address</button></p>
      </form>
      <p>If you do not know this account, or did not ask for this, close the page. Nothing changes then. Otherwise your
      sign-ins would open the account of somebody else, who sees what you do there.</p>
      """
    return Page(title: "Use this address?", content: content).response()
  }

  /// The link was used or has expired, or another account has the address. All look alike.
  fileprivate static var addressChangeEnded: Response {
    Page(
      title: "Nothing to change",
      content: """
        <p>This link was used before or is too old, or another account has the address by now. Ask for the
        new address again, or for another one.</p>
        """
    ).response(status: 404)
  }
}
