import Base
import HTTP
import Store

/// `GET /account/end?token=…`: asks the owner who got a mail whether what it tells of is to end. It
/// changes nothing, since programs follow the links of mails too.
func askWhetherToEnd(_ request: Request, in context: borrowing Context) throws -> Response {
  let token = request.queryItem("token") ?? ""
  switch context.endingLink(token) {
  case .session(let id, let passkeyID):
    guard let session = try context.records.sessions.noted(id) else { return .nothingToEnd }
    return .question(about: session, removesPasskey: passkeyID != nil, token: token)
  case .browsers(let account):
    guard try context.records.browsers.canEnd(of: account) else { return .nothingToEnd }
    return .questionAboutBrowsers(token: token)
  case nil: return .nothingToEnd
  }
}

/// `POST /account/end`: signs out what the link is about: a device, whose session may have added a
/// passkey that goes too, or all browsers.
func endByLink(_ request: Request, in context: borrowing Context) throws -> Response {
  switch context.endingLink(request.formItem("token") ?? "") {
  case .session(let id, let passkeyID):
    let ended = try context.records.sessions.endNoted(id, passkeyID: passkeyID)
    guard ended.device || ended.passkey else { return .nothingToEnd }
    return .undone([
      ended.device
        ? "The device is signed out. Nobody can use your account on it until they sign in again."
        : nil,
      ended.passkey ? "The passkey is removed." : nil,
    ])
  case .browsers(let account):
    guard try context.records.browsers.endAll(of: account) else { return .nothingToEnd }
    return .undone(["Nobody is signed in to your account in a browser any more."])
  case nil: return .nothingToEnd
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
    about session: NotedSession, removesPasskey: Bool, token: String
  ) -> Response {
    question(
      [("Device", session.deviceName), ("Signed in", session.startedAt.rfc3339)],
      button: "Sign this device out", token: token,
      removesPasskey ? " Otherwise the passkey that was added goes too." : "")
  }

  /// The mail has said when and from where.
  fileprivate static func questionAboutBrowsers(token: String) -> Response {
    question([], button: "Sign all browsers out", token: token)
  }

  /// - Parameter ending: of the sentence below the button.
  private static func question(
    _ facts: [(name: String, value: String)], button: String, token: String, _ ending: String = ""
  ) -> Response {
    let rows = facts.map { name, value in
      "<div><dt>\(name)</dt><dd><bdi>\(value.htmlEscaped)</bdi></dd></div>"
    }
    let list = rows.isEmpty ? "" : "<dl>\n\(rows.joined(separator: "\n"))\n</dl>"
    let content = """
      \(list)
      <form method="post" action="/account/end">
      <input type="hidden" name="token" value="\(token.htmlEscaped)">
      <p><button>\(button)</button></p>
      </form>
      <p>If it was you, close this page.\(ending)</p>
      """
    return Page(title: "Was this not you?", content: content).response()
  }

  fileprivate static func undone(_ sentences: [String?]) -> Response {
    let all =
      sentences + [
        "If you do not know who it was, make sure that nobody else reads your mail."
      ]
    return Page(
      title: "It is undone",
      content: "<p>\(all.compactMap { $0 }.joined(separator: " "))</p>"
    ).response()
  }

  /// It is signed out, or gone, or the link is none of ours. All look alike.
  fileprivate static var nothingToEnd: Response {
    Page(
      title: "Nothing to end",
      content: "<p>It is signed out already, or the account no longer exists.</p>"
    ).response(status: 404)
  }
}
