import Base
import Cryptography
import HTTP
import Store

/// `GET /account/end?token=…`: asks the owner whether to end the sign-in that the mail reports. Changes
/// nothing, because programs also follow the links in mails.
func askWhetherToEnd(_ request: Request, in context: borrowing Context) throws -> Response {
  let language = request.messageLanguage
  let token = request.queryItem("token") ?? ""
  switch context.endingLink(token) {
  case .session(let id, let passkeyID):
    guard let session = try context.records.sessions.noted(id) else {
      return .nothingToEnd(in: language)
    }
    return .question(
      about: session, removesPasskey: passkeyID != nil || session.hasPasskeys, token: token,
      in: language)
  case .browsers(let link):
    guard try context.records.browsers.canEnd(link) else {
      return .nothingToEnd(in: language)
    }
    return .questionAboutBrowsers(token: token, in: language)
  case .newAddress(let hash):
    guard let wanted = try context.records.addressChanges.wanted(by: hash) else {
      return .nothingToEnd(in: language)
    }
    return .question(about: wanted, token: token, in: language)
  case .access(let link):
    let access = try context.records.addressProofs.access(of: link)
    guard !access.isEmpty else { return .nothingToEnd(in: language) }
    return .question(about: access, token: token, in: language)
  case nil: return .nothingToEnd(in: language)
  }
}

/// `POST /account/end`: signs out the device or all browsers that the link names. Also removes a passkey
/// that the device's session has added, withdraws another address that was asked for, or removes what an account had
/// when its address was proven.
func endByLink(_ request: Request, in context: borrowing Context) throws -> Response {
  let language = request.messageLanguage
  let texts = LinkTexts(in: language)
  switch context.endingLink(request.formItem("token") ?? "") {
  case .session(let id, let passkeyID):
    let ended = try context.records.sessions.endNoted(id, passkeyID: passkeyID)
    guard ended.device || ended.passkey else { return .nothingToEnd(in: language) }
    return .undone(
      [ended.device ? texts.deviceOut : nil, ended.passkey ? texts.passkeyRemoved : nil],
      in: language)
  case .browsers(let link):
    guard try context.records.browsers.endAll(link) else {
      return .nothingToEnd(in: language)
    }
    return .undone([texts.browsersOut], in: language)
  case .newAddress(let hash):
    guard let ended = try context.records.addressChanges.withdraw(byLink: hash) else {
      return .nothingToEnd(in: language)
    }
    return .undone(
      [texts.addressStays, ended.device ? texts.deviceOut : texts.browsersOut], in: language)
  case .access(let link):
    guard try context.records.addressProofs.removeAccess(of: link) else {
      return .nothingToEnd(in: language)
    }
    return .undone([texts.allRemoved], in: language)
  case nil: return .nothingToEnd(in: language)
  }
}

/// The things that a link in a mail can end.
private enum EndingLink {
  case session(id: String, passkeyID: String?)
  case browsers(BrowserLink)
  /// The request for another address, named by SHA-256 of the token that was mailed there.
  case newAddress([UInt8])
  /// Everything that the account had when its address was proven.
  case access(ProofLink)
}

extension Context {
  /// - Returns: nil if the token is not ours.
  fileprivate func endingLink(_ token: String) -> EndingLink? {
    let keys = settings.hmacKeys
    if let parts = LinkToken.parts(of: token, for: .ending, signedWith: keys) {
      return .session(id: parts[0], passkeyID: parts[1].isEmpty ? nil : parts[1])
    }
    if let parts = LinkToken.parts(of: token, for: .withdrawal, signedWith: keys) {
      return base64URLDecoded(parts[0]).map { .newAddress($0) }
    }
    if let parts = LinkToken.parts(of: token, for: .removal, signedWith: keys),
      parts.count == 2, let instant = Int64(parts[1])
    {
      return .access(
        ProofLink(accountID: parts[0], provedAt: Timestamp(milliseconds: instant)))
    }
    if let parts = LinkToken.parts(of: token, for: .browserEnding, signedWith: keys),
      parts.count == 2, let second = Int64(parts[1])
    {
      return .browsers(BrowserLink(accountID: parts[0], signedInAt: Timestamp(seconds: second)))
    }
    return nil
  }
}

extension Response {
  fileprivate static func question(
    about session: NotedSession, removesPasskey: Bool, token: String, in language: Language
  ) -> Response {
    let texts = LinkTexts(in: language)
    return question(
      [
        (texts.device, session.deviceName.pageText),
        (texts.signedIn, session.startedAt.html(in: language)),
      ], button: texts.endDevice, token: token,
      removesPasskey ? " \(texts.passkeyGoesToo)" : "", in: language)
  }

  /// Has no facts: the mail tells the time and the place.
  fileprivate static func questionAboutBrowsers(token: String, in language: Language) -> Response {
    question([], button: LinkTexts(in: language).endBrowsers, token: token, in: language)
  }

  fileprivate static func question(
    about wanted: WantedAddress, token: String, in language: Language
  ) -> Response {
    let texts = LinkTexts(in: language)
    return question(
      [(texts.newAddress, "<strong>\(wanted.email.pageText)</strong>")],
      button: texts.keepAddress, token: token, " \(texts.askerGoesToo)", in: language)
  }

  fileprivate static func question(
    about access: [AccountAccess], token: String, in language: Language
  ) -> Response {
    let texts = LinkTexts(in: language)
    return question(
      access.map { $0.fact(texts, in: language) }, button: texts.removeAll, token: token,
      " \(texts.allGo)", in: language)
  }

  /// - Parameter ending: The end of the text below the button.
  private static func question(
    _ facts: [(name: String, value: String)], button: String, token: String, _ ending: String = "",
    in language: Language
  ) -> Response {
    let texts = LinkTexts(in: language)
    let content = """
      \(Page.list(facts))
      <form method="post" action="/account/end">
      <input type="hidden" name="token" value="\(token.htmlEscaped)">
      <p><button class="primary">\(button)</button></p>
      </form>
      <p>\(texts.ifItWasYou)\(ending)</p>
      """
    return Page(language: language, title: texts.wasThisNotYou, content: content).response()
  }

  fileprivate static func undone(_ sentences: [String?], in language: Language) -> Response {
    let texts = LinkTexts(in: language)
    let all = (sentences + [texts.watchYourMail]).compactMap { $0 }
    return said(texts.undone, all.joined(separator: " "), in: language)
  }

  /// The same page for each case: it is signed out or removed already, or the link is not ours.
  fileprivate static func nothingToEnd(in language: Language) -> Response {
    let texts = LinkTexts(in: language)
    return said(texts.nothingToEnd, texts.outAlready, status: 404, in: language)
  }
}

extension Endpoint {
  static var askWhetherToEnd: Endpoint {
    Endpoint(API.askWhetherToEnd) {
      Operation(
        "Shows the page of a mailed link, which asks whether to end the sign-in that the mail reports.",
        query: [.linkToken], answers: .page("The question."), errors: [.linkEnded])
    }
  }

  static var endByLink: Endpoint {
    Endpoint(API.endByLink) {
      Operation(
        "Signs out the device or all browsers that the link names, withdraws a new address, or removes devices and keys.",
        body: .form(["token": .string]),
        answers: .page("Signed out."), errors: [.linkEnded])
    }
  }
}
