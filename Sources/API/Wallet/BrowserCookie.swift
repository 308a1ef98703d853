import Base
import HTTP
import Store

/// Ties an enrollment to the browser that began it.
struct BrowserCookie {
  private let name: String
  private let attributes: String

  init(at publicURL: String) {
    let isSecure = WebURL(publicURL)?.isHTTPS == true
    name = isSecure ? "__Host-enrollment" : "enrollment"
    attributes =
      "; Path=/; Max-Age=\(NewEnrollment.lifetime.components.seconds); HttpOnly; SameSite=Lax"
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
