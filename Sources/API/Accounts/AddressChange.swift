import Base
import Cryptography
import HTTP
import Store

/// `GET /account/address?token=…`: asks the recipient of the mail whether the account should get this
/// address. Changes nothing, because programs also follow the links in mails.
func askForAddressChange(_ request: Request, in context: borrowing Context) throws -> Response {
  let token = request.queryItem("token") ?? ""
  guard let wanted = try context.records.addressChanges.wanted(by: sha256(token)) else {
    return .addressChangeEnded(in: request.messageLanguage)
  }
  return .addressChangeQuestion(wanted, token: token, in: request.messageLanguage)
}

/// `POST /account/address`: gives the account the address, and mails a notice to its old address.
func changeAddress(_ request: Request, in context: borrowing Context) throws -> Response {
  let language = request.messageLanguage
  let texts = LinkTexts(in: language)
  let token = request.formItem("token") ?? ""
  guard try context.records.addressChanges.complete(sha256(token)) else {
    return .addressChangeEnded(in: language)
  }
  context.wakeCompanion()
  return .said(texts.addressChanged, texts.hasNewAddress, in: language)
}

extension Context {
  func makeAddressChange(to email: String) -> NewAddressChange {
    NewAddressChange(email: email, token: base64URLEncoded(random(32)))
  }
}

extension Response {
  /// Shows the account's data. An attacker may have asked to add the person's address to the attacker's account: the person
  /// would then sign in to it by mistake.
  fileprivate static func addressChangeQuestion(
    _ wanted: WantedAddress, token: String, in language: Language
  ) -> Response {
    let texts = LinkTexts(in: language)
    let facts = [
      (name: texts.newAddress, value: "<strong>\(wanted.email.pageText)</strong>"),
      (texts.name, wanted.name.pageText),
      (texts.phone, wanted.deviceName?.pageText ?? texts.noPhone),
      (texts.accountSince, wanted.createdAt.html(in: language)),
    ]
    let content = """
      <p>\(texts.somebodyWants)</p>
      \(Page.list(facts))
      <p>\(texts.onlyIfYours)</p>
      <form method="post" action="/account/address">
      <input type="hidden" name="token" value="\(token.htmlEscaped)">
      <p><button class="primary">\(texts.useButton)</button></p>
      </form>
      <p>\(texts.otherwise)</p>
      """
    return Page(language: language, title: texts.useAddress, content: content).response()
  }

  /// The same page for each case: the link was used or has expired, or another account has the address.
  fileprivate static func addressChangeEnded(in language: Language) -> Response {
    let texts = LinkTexts(in: language)
    return said(texts.nothingToChange, texts.addressGone, status: 404, in: language)
  }
}

extension Endpoint {
  static var askForAddressChange: Endpoint {
    Endpoint(API.askForAddressChange) {
      Operation(
        "Shows the page of a mailed link, which asks whether the account should get this address.",
        query: [.linkToken], answers: .page("The question."), errors: [.linkEnded])
    }
  }

  static var changeAddress: Endpoint {
    Endpoint(API.changeAddress) {
      Operation(
        "Gives the account the address.", body: .form(["token": .string]),
        answers: .page("The account has the address."), errors: [.linkEnded])
    }
  }
}

extension Operation.Parameter {
  static let linkToken = Self("token", "The token of the mailed link.")
}

extension Failure {
  /// The page of a link that was used, has expired, or is not ours.
  static let linkEnded = Failure(status: 404, message: LinkTexts.english.usedBefore)
}
