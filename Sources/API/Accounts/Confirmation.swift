import Base
import HTTP
import Store

/// `GET /account/confirm?token=…`: asks the recipient of the mail whether the account is theirs.
/// Changes nothing, because programs also follow the links in mails.
func askForConfirmation(_ request: Request, in context: borrowing Context) throws -> Response {
  let token = request.queryItem("token") ?? ""
  guard let accountID = context.account(ofConfirmation: token),
    let account = try context.records.addressProofs.unproven(accountID)
  else { return .confirmationEnded(in: request.messageLanguage) }
  return .confirmationQuestion(account, token: token, in: request.messageLanguage)
}

/// `POST /account/confirm`: takes the answer. Yes proves the address; no deletes the account.
///
/// - Throws: ``Failure/badRequest(_:)`` if the form has no answer.
func confirmAccount(_ request: Request, in context: borrowing Context) throws -> Response {
  let language = request.messageLanguage
  let texts = LinkTexts(in: language)
  guard let accountID = context.account(ofConfirmation: request.formItem("token") ?? "") else {
    return .confirmationEnded(in: language)
  }
  let proofs = context.records.addressProofs
  let outcome =
    switch request.formItem("answer") {
    case "yes": try proofs.confirm(accountID)
    case "no": try proofs.deny(accountID)
    default: throw Failure.badRequest(\.formIncomplete)
    }
  if case .confirmed = outcome { context.wakeCompanion() }
  return switch outcome {
  case .confirmed: .said(texts.thanks, texts.confirmed, in: language)
  case .denied: .said(texts.denied, texts.nobodyUses, in: language)
  case .gone: .confirmationEnded(in: language)
  }
}

extension Context {
  fileprivate func account(ofConfirmation token: String) -> String? {
    LinkToken.parts(of: token, for: .confirmation, signedWith: settings.hmacKeys)?.first
  }
}

extension Response {
  fileprivate static func confirmationQuestion(
    _ account: UnprovenAccount, token: String, in language: Language
  ) -> Response {
    let texts = LinkTexts(in: language)
    let unknown = PageTexts(in: language).unknown
    let facts = [
      (name: texts.address, value: account.email.pageText),
      (texts.phone, account.deviceName.pageText),
      (texts.when, account.createdAt.html(in: language)),
      (texts.from, account.address.isEmpty ? unknown : account.address.pageText),
    ]
    let content = """
      <p>\(texts.somebodyCreated)</p>
      \(Page.list(facts))
      <p>\(texts.hasAccess)</p>
      \(Page.list(account.access.map { $0.fact(texts, in: language) }))
      <form method="post" action="/account/confirm">
      <input type="hidden" name="token" value="\(token.htmlEscaped)">
      <p><button class="primary" name="answer" value="yes">\(texts.thisIsMe)</button></p>
      <p><button name="answer" value="no">\(texts.thisIsNotMe)</button></p>
      </form>
      <p>\(texts.creationRule)</p>
      """
    return Page(language: language, title: texts.isThisYou, content: content).response()
  }

  /// The same page for both cases: the address is already proven, or the account does not exist.
  fileprivate static func confirmationEnded(in language: Language) -> Response {
    let texts = LinkTexts(in: language)
    return said(texts.nothingToConfirm, texts.usedBefore, status: 404, in: language)
  }

  /// A page with a few sentences.
  static func said(
    _ title: String, _ sentences: String, status: Int = 200, in language: Language
  ) -> Response {
    Page(language: language, title: title, content: "<p>\(sentences)</p>")
      .response(status: status)
  }
}

extension AccountAccess {
  /// Its line in a list.
  func fact(_ texts: LinkTexts, in language: Language) -> (name: String, value: String) {
    let label =
      switch kind {
      case .device: texts.device
      case .biometricKey: texts.biometricKey
      case .passkey: texts.passkey
      }
    return (label, "\(name.pageText), \(since.html(in: language))")
  }
}

extension Endpoint {
  static var askForConfirmation: Endpoint {
    Endpoint(API.askForConfirmation) {
      Operation(
        "Shows the page of a mailed link, which asks whether a new account is the person's own.",
        query: [.linkToken], answers: .page("The question."), errors: [.linkEnded])
    }
  }

  static var confirmAccount: Endpoint {
    Endpoint(API.confirmAccount) {
      Operation(
        "Takes the answer. Yes proves the address; no deletes the account.",
        body: .form(["token": .string, "answer": .words(["yes", "no"])]),
        answers: .page("Done."), errors: [.linkEnded, .badRequest(\.formIncomplete)])
    }
  }
}
