import Base
import HTTP
import Store

/// `GET /account/end?token=…`: asks the owner who got a mail whether what it tells of is to end. It
/// changes nothing, since programs follow the links of mails too.
func askWhetherToEnd(_ request: Request, in context: borrowing Context) throws -> Response {
  let language = request.messageLanguage
  let token = request.queryItem("token") ?? ""
  switch context.endingLink(token) {
  case .session(let id, let passkeyID):
    guard let session = try context.records.sessions.noted(id) else {
      return .nothingToEnd(in: language)
    }
    return .question(
      about: session, removesPasskey: passkeyID != nil, token: token, in: language)
  case .browsers(let account):
    guard try context.records.browsers.canEnd(of: account) else {
      return .nothingToEnd(in: language)
    }
    return .questionAboutBrowsers(token: token, in: language)
  case nil: return .nothingToEnd(in: language)
  }
}

/// `POST /account/end`: signs out what the link is about: a device, whose session may have added a
/// passkey that goes too, or all browsers.
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
  case .browsers(let account):
    guard try context.records.browsers.endAll(of: account) else {
      return .nothingToEnd(in: language)
    }
    return .undone([texts.browsersOut], in: language)
  case nil: return .nothingToEnd(in: language)
  }
}

/// What the link in a mail can end.
private enum EndingLink {
  case session(id: String, passkeyID: String?)
  /// Those of an account.
  case browsers(account: String)
}

extension Context {
  /// - Returns: nil where the token is none of ours.
  fileprivate func endingLink(_ token: String) -> EndingLink? {
    let keys = settings.hmacKeys
    if let parts = LinkToken.parts(of: token, for: .ending, signedWith: keys) {
      return .session(id: parts[0], passkeyID: parts[1].isEmpty ? nil : parts[1])
    }
    if let parts = LinkToken.parts(of: token, for: .browserEnding, signedWith: keys) {
      return .browsers(account: parts[0])
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

  /// The mail has said when and from where.
  fileprivate static func questionAboutBrowsers(token: String, in language: Language) -> Response {
    question([], button: LinkTexts(in: language).endBrowsers, token: token, in: language)
  }

  /// - Parameter ending: of the sentence below the button.
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

  /// It is signed out, or gone, or the link is none of ours. All look alike.
  fileprivate static func nothingToEnd(in language: Language) -> Response {
    let texts = LinkTexts(in: language)
    return said(texts.nothingToEnd, texts.outAlready, status: 404, in: language)
  }
}
