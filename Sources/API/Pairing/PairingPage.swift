import Base
import HTTP
import Store

/// The page on which a developer pairs a phone: one QR code, its facts, and a button.
struct PairingPage {
  private let info: PairingInfo

  init(_ info: PairingInfo) {
    self.info = info
  }

  var response: Response {
    // Without any referrer, the Origin that the button sends would be null.
    Page(title: "cdev Pairing", content: content, referrerPolicy: "same-origin").response()
  }

  private var content: String {
    """
    <p><strong>\(info.token == nil ? "No Auth Required" : "Auth Required")</strong></p>
    <img src="/api/pair/qr?size=512" width="512" height="512" alt="QR code to scan with the app">
    <dl>
    \(facts)
    </dl>
    \(renewal)
    """
  }

  private var facts: String {
    let expiry = info.token.map { token in
      let time = token.expiresAt.rfc3339
      return ("Token expires", #"<time datetime="\#(time)">\#(time)</time>"#)
    }
    let facts = [
      ("WebSocket", info.agent.webSocketURL.htmlEscaped),
      ("HTTP", info.agent.publicURL.htmlEscaped),
      ("Session", "\(info.session.prefix(8))...".htmlEscaped),
      ("Repo", info.agent.repo.htmlEscaped),
    ]
    return (facts + [expiry].compactMap { $0 })
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
