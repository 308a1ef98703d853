import Base
import HTTP

/// A cookie of one browser for the whole site. Over https its name prevents other hosts from setting it.
struct BrowserCookie {
  let name: String
  private let attributes: String

  /// - Parameter sameSite: `Lax` if another site sends the browser back to us, else `Strict`.
  init(_ word: String, at publicURL: String, lifetime: Duration, sameSite: String) {
    let isSecure = WebURL(publicURL)?.isHTTPS == true
    name = isSecure ? "__Host-\(word)" : word
    attributes =
      "; Path=/; Max-Age=\(lifetime.components.seconds); HttpOnly; SameSite=\(sameSite)"
      + (isSecure ? "; Secure" : "")
  }

  /// The value of `Set-Cookie`.
  func setting(_ value: String) -> String { "\(name)=\(value)\(attributes)" }

  func sentValue(in request: Request) -> String? {
    request.fieldValues("Cookie").flatMap { $0.split(separator: ";") }.lazy
      .map { String($0).trimmed }.first { $0.hasPrefix("\(name)=") }
      .map { String($0.dropFirst(name.count + 1)) }
  }
}
