import Base
import HTTP
import Store

/// `GET /account/end?token=…`: asks the owner who got a mail about a session whether it is to end. It
/// changes nothing, since programs follow the links of mails too.
func askWhetherToEndSession(_ request: Request, in context: borrowing Context) throws -> Response {
  let token = request.queryItem("token") ?? ""
  guard let link = context.session(of: token),
    let session = try context.records.sessions.noted(link.sessionID)
  else { return .nothingToEnd }
  return .endingQuestion(session, removesPasskey: link.passkeyID != nil, token: token)
}

/// `POST /account/end`: signs the device of the session out, and removes the passkey that it added.
func endSession(_ request: Request, in context: borrowing Context) throws -> Response {
  guard let link = context.session(of: request.formItem("token") ?? "") else {
    return .nothingToEnd
  }
  let ended = try context.records.sessions.endNoted(link.sessionID, passkeyID: link.passkeyID)
  guard ended.device || ended.passkey else { return .nothingToEnd }
  let sentences = [
    ended.device
      ? "The device is signed out. Nobody can use your account on it until they sign in again."
      : nil,
    ended.passkey ? "The passkey is removed." : nil,
    "If you do not know who it was, make sure that nobody else reads your mail.",
  ]
  return Page(
    title: "It is undone", content: "<p>\(sentences.compactMap { $0 }.joined(separator: " "))</p>"
  ).response()
}

/// What the link in a mail about a session says.
private struct SessionLink {
  let sessionID: String
  let passkeyID: String?
}

extension Context {
  fileprivate func session(of token: String) -> SessionLink? {
    guard
      let parts = LinkToken.parts(of: token, for: .ending, signedWith: settings.hmacKeys),
      parts.count == 2
    else { return nil }
    return SessionLink(sessionID: parts[0], passkeyID: parts[1].isEmpty ? nil : parts[1])
  }
}

extension Response {
  fileprivate static func endingQuestion(
    _ session: NotedSession, removesPasskey: Bool, token: String
  ) -> Response {
    let content = """
      <dl>
      <div><dt>Device</dt><dd><bdi>\(session.deviceName.htmlEscaped)</bdi></dd></div>
      <div><dt>Signed in</dt><dd>\(session.startedAt.rfc3339)</dd></div>
      </dl>
      <form method="post" action="/account/end">
      <input type="hidden" name="token" value="\(token.htmlEscaped)">
      <p><button>Sign this device out</button></p>
      </form>
      <p>If it was you, close this page.\
      \(removesPasskey ? " Otherwise the passkey that was added goes too." : "")</p>
      """
    return Page(title: "Was this not you?", content: content).response()
  }

  /// The device is signed out, or gone, or the link is none of ours. All look alike.
  fileprivate static var nothingToEnd: Response {
    Page(
      title: "Nothing to end",
      content: "<p>This device is signed out already, or the account no longer exists.</p>"
    ).response(status: 404)
  }
}
