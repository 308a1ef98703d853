import Base
import Cryptography
import HTTP
import Store

/// `GET /account/address?token=…`: asks the person who got the mail whether the account is to have this
/// address. It changes nothing, since programs follow the links of mails too.
func askForAddressChange(_ request: Request, in context: borrowing Context) throws -> Response {
  let token = request.queryItem("token") ?? ""
  guard let email = try context.records.addressChanges.wanted(by: sha256(token)) else {
    return .addressChangeEnded
  }
  let content = """
    <p>From now on, your account has the address <strong><bdi>\(email.htmlEscaped)</bdi></strong>. You sign
    in with it, and codes are mailed there.</p>
    <form method="post" action="/account/address">
    <input type="hidden" name="token" value="\(token.htmlEscaped)">
    <p><button>Use this address</button></p>
    </form>
    <p>If you do not want this, close the page. Nothing changes then.</p>
    """
  return Page(title: "Use this address?", content: content).response()
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
