import Base
import HTTP
import Store

/// Which pages of other origins may call the push routes, and how browsers are told so (Fetch
/// standard, CORS protocol).
struct CrossOriginPolicy: Sendable {
  static let methods = "POST, OPTIONS"

  let environment: Settings.Environment
  /// Allowed in every environment, compared as they are.
  let allowedOrigins: [String]

  /// Whether pages of `origin` may call.
  func allows(_ origin: String) -> Bool {
    if allowedOrigins.contains(origin) { return true }
    guard let parsed = WebOrigin(origin), parsed.isHTTP else { return false }
    if parsed.isInTailnet { return true }
    return switch environment {
    case .production: origin == "https://os.ryo.lu"
    case .preview: parsed.isPreview
    case .development: parsed.isLoopback
    }
  }

  /// - Throws: ``Failure/foreignOrigin`` unless the request comes from a page that may call.
  func admit(_ request: Request) throws {
    guard let origin = request.webOrigin, allows(origin) else { throw Failure.foreignOrigin }
  }

  /// Adds to `response` the fields that tell the browser whether the page may have it.
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

/// `OPTIONS` of a push route: the question of a browser whether its page may call.
///
/// - Throws: ``Failure/methodNotAllowed(allow:)`` if it wants to send anything but POST.
func answerPreflight(_ request: Request, in context: borrowing Context) throws -> Response {
  if let method = request.firstValue("Access-Control-Request-Method"),
    method.uppercased() != "POST"
  {
    throw Failure.methodNotAllowed(allow: CrossOriginPolicy.methods)
  }
  let names = request.requestedFieldNames
  return Response(
    status: 204,
    fields: names.isEmpty
      ? [] : [("Access-Control-Allow-Headers", names.joined(separator: ", "))])
}

extension Failure {
  static let foreignOrigin = Failure.forbidden("Unauthorized")
}

/// The origin of a page (RFC 6454 §4).
struct WebOrigin: Equatable {
  let scheme: String
  /// IPv6 in brackets.
  let host: String
  let port: UInt16?

  /// - Returns: nil unless `text` is `scheme://host[:port]` and nothing else.
  init?(_ text: String) {
    guard let mark = text.firstRange(of: "://") else { return nil }
    var host = text[mark.upperBound...]
    var port: UInt16?
    if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") {
      let digits = host[host.index(after: colon)...]
      guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(digits)
      else { return nil }
      port = number
      host = host[..<colon]
    }
    let scheme = text[..<mark.lowerBound]
    guard Self.isScheme(scheme), Self.isHost(host) else { return nil }
    self.scheme = scheme.lowercased()
    self.host = host.lowercased()
    self.port = port
  }

  /// The origin of the resource at `url`.
  init?(ofURL url: String) {
    guard let mark = url.firstRange(of: "://") else { return nil }
    let end = url[mark.upperBound...].firstIndex { "/?#\\".contains($0) } ?? url.endIndex
    self.init(String(url[..<end]))
  }

  private static func isScheme(_ text: Substring) -> Bool {
    text.first?.isLetter == true
      && text.utf8.allSatisfy { $0.isAlphanumeric || "+-.".utf8.contains($0) }
  }

  private static func isHost(_ text: Substring) -> Bool {
    if text.hasPrefix("["), text.hasSuffix("]") {
      let address = text.dropFirst().dropLast()
      return !address.isEmpty
        && address.utf8.allSatisfy { $0.isAlphanumeric || ":.".utf8.contains($0) }
    }
    return !text.isEmpty && text.utf8.allSatisfy { $0.isAlphanumeric || "-._".utf8.contains($0) }
  }

  /// As browsers write it: without the scheme's own port.
  var text: String {
    port.map { $0 == defaultPort ? "\(scheme)://\(host)" : "\(scheme)://\(host):\($0)" }
      ?? "\(scheme)://\(host)"
  }

  private var defaultPort: UInt16? {
    switch scheme {
    case "http": 80
    case "https": 443
    default: nil
    }
  }

  fileprivate var isHTTP: Bool { defaultPort != nil }

  fileprivate var isLoopback: Bool {
    ["localhost", "127.0.0.1", "[::1]"].contains(host)
      && [80, 443, 3000, 5173].contains(port ?? defaultPort)
  }

  fileprivate var isInTailnet: Bool {
    let suffix = ".tailb4fa61.ts.net"
    return host.hasSuffix(suffix) && host != suffix
  }

  /// One label before `vercel.app`, which is anybody's.
  fileprivate var isPreview: Bool {
    let suffix = ".vercel.app"
    guard scheme == "https", host.hasSuffix(suffix) else { return false }
    let label = host.dropLast(suffix.count)
    return !label.contains(".")
      && ["ryos-", "ryo-lu-", "os-ryo-"].contains { label.hasPrefix($0) }
  }
}

extension Request {
  /// The first value of the field that is not blank, trimmed. Web servers hand repeated field lines
  /// over one by one or joined by commas.
  func firstValue(_ name: String) -> String? {
    for line in fieldValues(name) {
      for value in line.split(separator: ",") {
        let value = String(value).trimmed
        if !value.isEmpty { return value }
      }
    }
    return nil
  }

  /// The origin of the page that sent the request: `Origin` as it is, else the origin of `Referer`.
  fileprivate var webOrigin: String? {
    firstValue("Origin") ?? firstValue("Referer").flatMap { WebOrigin(ofURL: $0)?.text }
  }

  /// What `Access-Control-Request-Headers` names: field names of at most 128 characters, each once
  /// in its first spelling, at most 50 of the first 200 that it lists.
  fileprivate var requestedFieldNames: [String] {
    let candidates = fieldValues("Access-Control-Request-Headers").joined(separator: ",")
      .split(separator: ",", omittingEmptySubsequences: false).prefix(200)
    var seen: Set<String> = []
    var names: [String] = []
    for candidate in candidates {
      let name = String(candidate).trimmed
      guard names.count < 50, name.utf8.count <= 128, name.isFieldName,
        seen.insert(name.lowercased()).inserted
      else { continue }
      names.append(name)
    }
    return names
  }
}

extension String {
  /// Whether it is a token (RFC 9110 §5.6.2).
  fileprivate var isFieldName: Bool {
    !isEmpty && utf8.allSatisfy { $0.isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }
}

extension UInt8 {
  /// Whether it is a letter or a digit of ASCII.
  fileprivate var isAlphanumeric: Bool {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }
}
