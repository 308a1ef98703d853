import Base
import HTTP

/// A cookie of one browser for the whole site. Over https its name demands that no other host has set it.
struct BrowserCookie {
  private let name: String
  private let attributes: String

  /// - Parameter sameSite: `Lax` where the browser comes back from another site, else `Strict`.
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
