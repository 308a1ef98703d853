import Cryptography
import HTTP

/// A page of HTML that needs nothing from elsewhere.
struct Page {
  let title: String
  /// HTML, its values escaped.
  let content: String
  /// What is told to where its links and buttons lead.
  var referrerPolicy = "no-referrer"
  /// Where else its forms may lead: browsers hold the redirects that answer a form to that too.
  var formTarget = ""
  /// Path of the one script, for what HTML cannot do.
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
      body: Array(html.utf8))
  }

  private var html: String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>\(title.htmlEscaped)</title>
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

  private static let style = """
    :root{color-scheme:light dark;--ink:#1a202c;--quiet:#4a5568;--ground:#fff;--line:#cbd5e0;--mark:#0f766e;--wrong:#b91c1c}
    @media(prefers-color-scheme:dark){:root{--ink:#f7fafc;--quiet:#cbd5e0;--ground:#171923;--line:#4a5568;--mark:#4fd1c5;--wrong:#fca5a5}}
    body{margin:0;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
    main{max-width:32rem;margin:0 auto;padding:1.5rem}
    img{display:block;max-width:100%;height:auto;border-radius:.5rem;image-rendering:pixelated}
    strong{color:var(--mark)}
    dl div{display:flex;gap:1rem;border-bottom:1px solid var(--line);padding:.4rem 0}
    dt{flex:0 0 8rem;color:var(--quiet)}
    dd{margin:0;min-width:0;overflow-wrap:anywhere}
    button{font:inherit;padding:.6rem 1.4rem;border:2px solid var(--mark);border-radius:.5rem;background:var(--ground);color:var(--ink)}
    button,h1,h2,h3,p{max-width:100%;overflow-wrap:anywhere}
    a:focus-visible,input:focus-visible,button:focus-visible{outline:3px solid var(--mark);outline-offset:3px}
    p{color:var(--quiet)}
    h2{margin:2.5rem 0 .5rem;font-size:1.3rem}
    h3{margin:0;font-size:1rem}
    a{color:var(--mark)}
    ul{margin:0;padding:0;list-style:none}
    li{padding:.8rem 0;border-bottom:1px solid var(--line)}
    label{display:block;font-weight:600}
    input{box-sizing:border-box;width:100%;max-width:24rem;margin:.3rem 0 .8rem;padding:.5rem;font:inherit;border:2px solid var(--quiet);border-radius:.5rem;background:var(--ground);color:var(--ink)}
    .error{margin:.3rem 0;color:var(--wrong);font-weight:600}
    [role=status]{padding-left:.8rem;border-left:4px solid var(--mark);color:var(--ink)}
    [role=status]:empty{display:none}
    """

  /// Nothing is loaded but the one style, by its digest, our own picture and script (CSP Level 3).
  private var policy: String {
    "default-src 'none'; \(script == nil ? "" : "script-src 'self'; ")"
      + "style-src '\(Self.styleDigest)'; img-src 'self'; "
      + "form-action 'self'\(formTarget.isEmpty ? "" : " \(formTarget)"); base-uri 'none'; frame-ancestors 'none'"
  }

  private static let styleDigest = "sha256-\(base64Encoded(sha256(style)))"
}

extension String {
  /// As text of HTML that stands for itself, whichever way it is written.
  var pageText: String { "<bdi>\(htmlEscaped)</bdi>" }

  /// As text or a quoted attribute of HTML.
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
