import Base
import FastCGI

@testable import API
@testable import HTTP

extension FuzzTarget {
  static let ofHTTP = [
    FuzzTarget("request-target", atMost: 512, testTarget),
    FuzzTarget("query", atMost: 512, testQuery),
    FuzzTarget("fields", atMost: 1024, testFields),
  ]

  private static let router = Router(Family.all)

  private static func isSlash(_ octet: UInt8) -> Bool { octet == UInt8(ascii: "/") }

  /// The path that the router sees is the one that the web server has checked.
  private static func testTarget(_ input: [UInt8]) {
    let target = Array(input.prefix { $0 != 0 })
    let parameters = Parameters(
      entries: [Array("REQUEST_METHOD=GET".utf8), Array("REQUEST_URI=".utf8) + target])
    let paths = RequestPaths(source: .target, basePath: "/site")
    guard let request = Request(parameters, body: [], bodyDefect: nil, paths: paths) else {
      fatalError("no request")
    }
    if request.defect == nil {
      let path = target.prefix { $0 != UInt8(ascii: "?") }
      let decoded = Array(path).withUnsafeBufferPointer { Request.decoded($0[...], isForm: false) }
      require(path.count(where: isSlash) == decoded.utf8.count(where: isSlash), "an encoded slash")
      let segments = request.path.utf8.split(
        separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      require(!request.path.utf8.contains { $0 == UInt8(ascii: "\\") || $0 == 0 }, "\\ or NUL")
      require(!segments.contains { $0.elementsEqual("..".utf8) }, "a segment ..")
      require(!segments.dropFirst().dropLast().contains { $0.isEmpty }, "an empty segment")
    }
    guard let match = router.match(request.path) else { return }
    let route = match.routes[0].path.split(separator: "/", omittingEmptySubsequences: false)
      .map { $0.hasPrefix(":") ? match.pathItem : String($0) }.joined(separator: "/")
    require(route.utf8.elementsEqual(request.path.utf8), "\(request.path) is not \(route)")
  }

  /// The query of a request, that of its target, and a form are read in the same way.
  private static func testQuery(_ input: [UInt8]) {
    let query = Array(input.prefix { $0 != 0 })
    let parameters = Parameters(
      entries: [
        Array("REQUEST_METHOD=GET".utf8), Array("QUERY_STRING=".utf8) + query,
        Array("REQUEST_URI=/?".utf8) + query,
      ])
    guard let request = Request(parameters, body: query, bodyDefect: nil) else {
      fatalError("no request")
    }
    for name in ["token", "", "size", "état", "a b"] {
      let value = request.queryItem(name)
      require(value == request.formItem(name), "the form has another \(name)")
      require(value == request.requestURIQueryItem(name), "the target has another \(name)")
      require(value?.utf8.count ?? 0 <= 3 * query.count, "a value grows")
    }
    let text = query.text
    let again = Request(query: "\("é&=+%".percentEncoded)=\(text.percentEncoded)")
    require(again.queryItem("é&=+%") == text, "percent-encoding is not undone")
  }

  /// Each line is a field of the request, `NAME: value`.
  private static func testFields(_ input: [UInt8]) {
    let request = Request(fields: fields(of: input))
    _ = request.bearerToken.map { require(!$0.isEmpty && $0.first != " ", "a token with a space") }
    for word in ["account", "browser", "language"] {
      let cookie = BrowserCookie(
        word, at: "https://example.org", lifetime: .seconds(60), sameSite: "Lax")
      _ = cookie.sentValue(in: request)
    }
    let proxies = TrustedProxies(networks: IPNetwork.loopback)
    let client = proxies.clientAddress(of: request)
    require(IPNetwork.isAddress(client), "the client \(client) has no address")
    _ = PairingAccess(proxies: IPNetwork.loopback).admits(request)
    _ = request.messageLanguage
    _ = request.bundleID
  }

  static func fields(of lines: [UInt8]) -> [(name: String, value: String)] {
    lines.split(separator: UInt8(ascii: "\n")).compactMap { line in
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      let name = String(decoding: line[..<colon], as: UTF8.self)
      let value = line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }
      return (name, String(decoding: value.filter { $0 != 0 }, as: UTF8.self))
    }
  }
}
