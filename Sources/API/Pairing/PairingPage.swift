import Base
import HTTP
import Store

/// The page on which a developer pairs a phone: one QR code, its facts, and a button. It loads itself
/// again, so that it shows a token that is good, and when a phone has paired.
struct PairingPage {
  /// How often, in seconds.
  private static let refresh = 20
  /// How long it shows that a phone has paired.
  static let newsLifetime = Duration.seconds(600)

  let info: PairingInfo
  /// The phone that has just paired.
  let newest: ListedDevice?
  let now: Timestamp

  var response: Response {
    // Without any referrer, the Origin that the button sends would be null.
    var response = Page(title: "cdev Pairing", content: content, referrerPolicy: "same-origin")
      .response()
    response.fields.append(("Refresh", "\(Self.refresh)"))
    return response
  }

  private var content: String {
    """
    <p><strong>\(info.token == nil ? "No Auth Required" : "Auth Required")</strong></p>
    <p role="status">\(news)</p>
    <img src="/api/pair/qr?size=512" width="512" height="512" alt="QR code to scan with the app">
    <dl>
    \(facts)
    </dl>
    \(renewal)
    <p><a href="/pair/phones">Paired phones</a></p>
    """
  }

  private var news: String {
    newest.map {
      "Paired \((now - $0.pairedAt).inWords) ago: \($0.name.htmlEscaped)"
    } ?? ""
  }

  private var facts: String {
    let expiry = info.token.map { token in
      let time = token.expiresAt.rfc3339
      return (
        "Token expires",
        #"<time datetime="\#(time)">in \#((token.expiresAt - now).inWords)</time>"#
      )
    }
    let facts = [
      ("WebSocket", info.agent.webSocketURL.htmlEscaped),
      ("HTTP", info.agent.publicURL.htmlEscaped),
      ("Session", "\(info.session.prefix(8))...".htmlEscaped),
      ("Repo", info.agent.repo.htmlEscaped),
    ]
    let code = info.code.map { ("Code to type", $0) }
    return (facts + [code, expiry].compactMap { $0 })
      .map { name, value in "<div><dt>\(name)</dt><dd>\(value)</dd></div>" }
      .joined(separator: "\n")
  }

  private var renewal: String {
    guard info.token != nil else { return "" }
    return """
      <form method="post" action="/pair">
      <button>Refresh</button>
      <p>A code pairs one phone. Refresh to get the next code. Codes that nobody has scanned stop working then.</p>
      </form>
      """
  }
}
