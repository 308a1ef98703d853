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
  let notices = context.noticeSealer()
  let isChanged = try context.records.addressChanges.complete(sha256(token), notice: notices)
  guard isChanged else { return .addressChangeEnded }
  context.wakeCompanion()
  return Page(
    title: "Your address is changed",
    content: "<p>Your account has the new address now. You can close this page.</p>"
  ).response()
}

extension Context {
  /// A wish for `email`, with the mail that has the link.
  func makeAddressChange(to email: String, of accountID: String) -> NewAddressChange {
    let token = base64URLEncoded(random(32))
    let id = timeOrderedUUID(milliseconds: now.milliseconds)
    let sealed = seal(
      Array(token.utf8), authenticating: Mail.sealingContext(id), with: settings.credentialKeys)
    return NewAddressChange(
      email: email, tokenHash: sha256(token),
      mail: Mail(
        id: id, kind: .addressChange, recipient: email, sealed: sealed, accountID: accountID))
  }

  /// Makes the mail that tells an account's old address. It has no secret.
  fileprivate func noticeSealer() -> (Account) -> Mail {
    let (keys, milliseconds) = (settings.credentialKeys, now.milliseconds)
    return { account in
      let id = timeOrderedUUID(milliseconds: milliseconds)
      let nothing = seal([], authenticating: Mail.sealingContext(id), with: keys)
      return Mail(
        id: id, kind: .addressChanged, recipient: account.email, sealed: nothing,
        accountID: account.id)
    }
  }
}

extension Response {
  /// The link was used or has expired, or another account has the address. All look alike.
  fileprivate static var addressChangeEnded: Response {
    Page(
      title: "Nothing to change",
      content: "<p>This link was used before or is too old. Ask for the new address again.</p>"
    ).response(status: 404)
  }
}
