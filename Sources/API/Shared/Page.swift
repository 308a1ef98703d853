import Base
import Cryptography
import HTTP

/// An HTML page that loads nothing from other hosts.
struct Page {
  let language: Language
  let title: String
  /// HTML with escaped values.
  let content: String
  /// The `Referrer-Policy`: the part of this page's address that the targets of its links and buttons get.
  var referrerPolicy = "no-referrer"
  /// Another allowed target of its forms. Browsers also check redirects after a form against this.
  var formTarget = ""
  /// The path of the page's only script.
  var script: String?

  func response(status: Int = 200) -> Response {
    Response(
      status: status,
      fields: [
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Security-Policy", policy),
        ("Referrer-Policy", referrerPolicy),
        ("X-Content-Type-Options", "nosniff"),
      ],
      body: Array(html.utf8)
    ).written(in: language)
  }

  private var html: String {
    """
    <!DOCTYPE html>
    <html lang="\(language.rawValue)"\(language.isRightToLeft ? #" dir="rtl""# : "")>
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>\(title.htmlEscaped)</title>
    <link rel="icon" href="\(Self.icon)">
    <style>\(Self.style)</style>
    \(script.map { #"<script src="\#($0)" defer></script>"# } ?? "")
    </head>
    <body>
    <main>
    <h1>\(title.htmlEscaped)</h1>
    \(content)
    </main>
    </body>
    </html>

    """
  }

  /// The icon, a switch that is on. It is part of the page, so that browsers request no file.
  private static let icon =
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E"
    + "%3Crect y='6' width='32' height='20' rx='10' fill='%230f766e'/%3E"
    + "%3Ccircle cx='22' cy='16' r='7' fill='%23fff'/%3E%3C/svg%3E"

  /// The style sheet. Properties are logical, so that right-to-left pages are mirrored. Buttons, fields and links are at
  /// least 44 pixels high.
  private static let style = """
    :root{color-scheme:light dark;--ink:#1a202c;--quiet:#4a5568;--ground:#fff;--line:#cbd5e0;--mark:#0f766e;--wrong:#b91c1c}
    @media(prefers-color-scheme:dark){:root{--ink:#f7fafc;--quiet:#cbd5e0;--ground:#171923;--line:#4a5568;--mark:#4fd1c5;--wrong:#fca5a5}}
    body{margin:0;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
    main{max-width:32rem;margin:0 auto;padding:1.5rem}
    img{display:block;max-width:100%;height:auto;border-radius:.5rem;image-rendering:pixelated}
    strong{color:var(--mark)}
    dl{margin:.5rem 0}
    dl div{display:flex;gap:1rem;border-bottom:1px solid var(--line);padding:.4rem 0}
    dt{flex:0 0 8rem;color:var(--quiet);overflow-wrap:anywhere}
    dd{margin:0;min-width:0;overflow-wrap:anywhere}
    button,.button{box-sizing:border-box;display:inline-flex;align-items:center;min-height:44px;font:inherit;text-decoration:none;padding:.5rem 1.4rem;border:2px solid var(--mark);border-radius:.5rem;background:var(--ground);color:var(--ink)}
    .primary{background:var(--mark);color:var(--ground)}
    .link{display:inline-flex;align-items:center;min-height:44px}
    button,a,h1,h2,h3,p{max-width:100%;overflow-wrap:anywhere}
    a:focus-visible,input:focus-visible,button:focus-visible{outline:3px solid var(--mark);outline-offset:3px}
    p{color:var(--quiet)}
    h2{margin:2.5rem 0 .5rem;font-size:1.3rem}
    h3{margin:0;font-size:1rem}
    a{color:var(--mark)}
    a.button{color:var(--ink)}
    a.primary{color:var(--ground)}
    ul{margin:0;padding:0;list-style:none}
    li{padding:.8rem 0;border-bottom:1px solid var(--line)}
    .row{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:.5rem 1rem}
    .row>div{flex:1 1 14rem;min-width:0}
    .row dl div{border:0;padding:.1rem 0}
    .row dt{flex-basis:6rem}
    .row p{margin:0}
    label{display:block;font-weight:600}
    input{box-sizing:border-box;width:100%;max-width:24rem;min-height:44px;margin:.3rem 0 .8rem;padding:.5rem;font:inherit;border:2px solid var(--quiet);border-radius:.5rem;background:var(--ground);color:var(--ink)}
    .error{margin:.3rem 0;color:var(--wrong);font-weight:600}
    [role=status]{padding-inline-start:.8rem;border-inline-start:4px solid var(--mark);color:var(--ink)}
    [role=status]:empty,.error:empty{display:none}
    """

  /// The content security policy (CSP Level 3). Allows only our style, by its digest, our own pictures and script, and the
  /// pages that the script requests.
  private var policy: String {
    "default-src 'none'; \(script == nil ? "" : "script-src 'self'; connect-src 'self'; ")"
      + "style-src '\(Self.styleDigest)'; img-src 'self' data:; "
      + "form-action 'self'\(formTarget.isEmpty ? "" : " \(formTarget)"); base-uri 'none'; frame-ancestors 'none'"
  }

  private static let styleDigest = "sha256-\(base64Encoded(sha256(style)))"
}

extension Page {
  /// A list of names and values.
  ///
  /// - Parameter facts: The names, and their values as HTML.
  static func list(_ facts: [(name: String, value: String)]) -> String {
    guard !facts.isEmpty else { return "" }
    let rows = facts.map { "<div><dt>\($0)</dt><dd>\($1)</dd></div>" }
    return "<dl>\n\(rows.joined(separator: "\n"))\n</dl>"
  }

  /// A link in its own paragraph.
  static func link(_ path: String, _ text: String) -> String {
    #"<p><a class="link" href="\#(path)">\#(text)</a></p>"#
  }
}

extension Response {
  /// The error page for people.
  ///
  /// - Parameter link: HTML; where they can go on.
  static func failurePage(_ failure: Failure, _ link: String, in language: Language) -> Response {
    let page = Page(
      language: language, title: PageTexts(in: language).failed,
      content: "<p>\(failure.text(in: language).htmlEscaped)</p>\n\(link)")
    var response = page.response(status: failure.status)
    response.fields += failure.fields
    return response
  }
}

extension Failure {
  /// The text for people.
  func text(in language: Language) -> String { sentence?(Messages(in: language)) ?? message }
}

extension String {
  /// The text as HTML, isolated from the text direction around it.
  var pageText: String { "<bdi>\(htmlEscaped)</bdi>" }

  /// The text, escaped for HTML text or a quoted attribute.
  var htmlEscaped: String {
    var text = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "'": text += "&#39;"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}
