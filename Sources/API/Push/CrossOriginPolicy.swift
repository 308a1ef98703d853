import Base
import HTTP

/// Decides which pages of other origins may call the push routes, and tells browsers (Fetch standard,
/// CORS protocol).
struct CrossOriginPolicy {
  static let methods = "POST, OPTIONS"

  private let environment: Settings.Environment
  /// Origins that are allowed in every environment, compared as text.
  private let allowedOrigins: [String]

  init(_ settings: Settings) {
    environment = settings.environment
    allowedOrigins = settings.allowedOrigins
  }

  /// Whether pages of `origin` may call.
  func allows(_ origin: String) -> Bool {
    if allowedOrigins.contains(origin) { return true }
    guard let url = WebURL(origin), url.rest.isEmpty, url.isHTTP else { return false }
    if url.isInTailnet { return true }
    return switch environment {
    case .production: origin == "https://os.ryo.lu"
    case .preview: url.isPreview
    case .development: url.isLoopback
    }
  }

  /// - Throws: ``Failure/foreignOrigin`` unless the request comes from a page that may call.
  func check(_ request: Request) throws {
    guard let origin = request.webOrigin, allows(origin) else { throw Failure.foreignOrigin }
  }

  /// Adds the fields to `response` that tell the browser whether the page may read it.
  func mark(_ response: inout Response, to request: Request) {
    let varies =
      request.method == "OPTIONS"
      ? "Origin, Access-Control-Request-Method, Access-Control-Request-Headers" : "Origin"
    response.fields.append(("Vary", varies))
    guard let origin = request.webOrigin, allows(origin) else { return }
    if !response.fields.contains(where: { $0.name == "Access-Control-Allow-Headers" }) {
      response.fields.append(
        ("Access-Control-Allow-Headers", "Content-Type, Authorization, X-Username"))
    }
    response.fields += [
      ("Access-Control-Allow-Origin", origin),
      ("Access-Control-Allow-Methods", Self.methods),
      ("Access-Control-Allow-Credentials", "true"),
      ("Access-Control-Max-Age", "86400"),
    ]
  }
}

extension Failure {
  static let foreignOrigin = Failure.forbidden("Unauthorized")
}

extension WebURL {
  fileprivate var isLoopback: Bool {
    ["localhost", "127.0.0.1", "[::1]"].contains(host)
      && [80, 443, 3000, 5173].contains(effectivePort)
  }

  fileprivate var isInTailnet: Bool {
    let suffix = ".tailb4fa61.ts.net"
    return host.hasSuffix(suffix) && host != suffix
  }

  /// Whether the host has one label with a known prefix before `vercel.app`, where everyone can have a host.
  fileprivate var isPreview: Bool {
    let suffix = ".vercel.app"
    guard isHTTPS, host.hasSuffix(suffix) else { return false }
    let label = host.dropLast(suffix.count)
    return !label.contains(".")
      && ["ryos-", "ryo-lu-", "os-ryo-"].contains { label.hasPrefix($0) }
  }
}

extension Request {
  /// The first non-empty value of the field, trimmed. Web servers pass on repeated field lines one by one
  /// or joined with commas.
  func firstValue(_ name: String) -> String? {
    for line in fieldValues(name) {
      for value in line.split(separator: ",") {
        let value = String(value).trimmed
        if !value.isEmpty { return value }
      }
    }
    return nil
  }

  /// The origin of the page that sends the request: the `Origin`, or else the origin of the `Referer`.
  fileprivate var webOrigin: String? {
    firstValue("Origin") ?? firstValue("Referer").flatMap { WebURL($0)?.origin }
  }
}
