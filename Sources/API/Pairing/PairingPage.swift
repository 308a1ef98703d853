import Base
import HTTP
import Store

/// The page on which a developer pairs a phone: one QR code, its facts, and a button. It reloads itself, so
/// that it always shows a valid token, and a phone that has just paired.
struct PairingPage {
  /// The reload interval in seconds.
  private static let refresh = 20
  /// The time for which the page shows that a phone has paired.
  static let newsLifetime = Duration.seconds(600)

  let info: PairingInfo
  /// The last phone that has paired within ``newsLifetime``.
  let newest: ListedDevice?
  let now: Timestamp
  /// Whether a proxy in front of the site may show the page to everybody.
  let mayBeOpenToAll: Bool
  let language: Language

  private var texts: PairingTexts { PairingTexts(in: language) }

  var response: Response {
    // With "no-referrer", browsers would send the Origin "null" with the button's form.
    var response = Page(
      language: language, title: texts.title, content: content, referrerPolicy: "same-origin"
    ).response()
    response.fields.append(("Refresh", "\(Self.refresh)"))
    return response
  }

  private var content: String {
    """
    \(mayBeOpenToAll ? "<p role=\"alert\">\(texts.openToAll)</p>" : "")
    <p><strong>\(info.token == nil ? texts.noAuthRequired : texts.authRequired)</strong></p>
    <p role="status">\(news)</p>
    <img src="/api/pair/qr?size=512" width="512" height="512" alt="\(texts.picture)">
    \(Page.list(facts))
    \(renewal)
    \(Page.link("/pair/phones", texts.phones))
    """
  }

  private var news: String {
    newest.map {
      "\(texts.paired($0.pairedAt.html(before: now, in: language))) \($0.name.pageText)"
    } ?? ""
  }

  private var facts: [(name: String, value: String)] {
    let facts = [
      ("WebSocket", info.agent.webSocketURL.pageText),
      ("HTTP", info.agent.publicURL.pageText),
      (texts.session, "\(info.session.prefix(8))...".pageText),
      ("Repo", info.agent.repo.pageText),
    ]
    let code = info.code.map { (texts.codeToType, $0) }
    let expiry = info.token.map {
      (texts.tokenExpires, $0.expiresAt.html(after: now, in: language))
    }
    return facts + [code, expiry].compactMap { $0 }
  }

  private var renewal: String {
    guard info.token != nil else { return "" }
    return """
      <form method="post" action="/pair">
      <button class="primary">\(texts.refresh)</button>
      <p>\(texts.rule)</p>
      </form>
      """
  }
}
