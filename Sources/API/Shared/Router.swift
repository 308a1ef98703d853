import HTTP

/// One method of one path. The path may have one `:name`, which matches any segment.
struct Route: Sendable {
  let method: String
  let path: String
  let endpoint: Endpoint
  /// Whether the route also answers HEAD. A GET that changes data does not, because HEAD must be safe
  /// (RFC 9110 §9.2.1).
  let hasHead: Bool

  init(_ method: String, _ path: String, changes: Bool = false, _ endpoint: Endpoint) {
    self.method = method
    self.path = path
    self.endpoint = endpoint
    hasHead = method == "GET" && !changes
  }
}

/// Finds the routes of a path.
struct Router: Sendable {
  struct Match {
    /// The index of the routes' family.
    let family: Int
    /// The routes of the path for all methods.
    let routes: [Route]
    /// The path segment that matches `:name`.
    var pathItem = ""
  }

  private typealias Entry = (family: Int, routes: [Route])

  /// Routes without `:name`, by path.
  private var exact: [String: Entry] = [:]
  /// Routes with `:name`, by path with `:` instead of `:name`. It is one of the last two segments.
  private var patterns: [String: Entry] = [:]

  init(_ families: [Family]) {
    for family in families.indices {
      for route in families[family].routes {
        // Most paths have no pattern. Splitting all of them takes a tenth of a plain CGI request.
        guard route.path.utf8.contains(UInt8(ascii: ":")) else {
          exact[route.path, default: (family, [])].routes.append(route)
          continue
        }
        let segments = route.path.split(separator: "/", omittingEmptySubsequences: false)
        let pattern = segments.map { $0.hasPrefix(":") ? ":" : $0 }.joined(separator: "/")
        patterns[pattern, default: (family, [])].routes.append(route)
      }
    }
  }

  /// - Returns: nil for an unknown path.
  func match(_ path: String) -> Match? {
    if let entry = exact[path] { return Match(family: entry.family, routes: entry.routes) }
    var segments = path.split(separator: "/", omittingEmptySubsequences: false)
    for index in segments.indices.suffix(2).reversed() where !segments[index].isEmpty {
      let item = String(segments[index])
      segments[index] = ":"
      if let entry = patterns[segments.joined(separator: "/")] {
        return Match(family: entry.family, routes: entry.routes, pathItem: item)
      }
      segments[index] = Substring(item)
    }
    return nil
  }
}

extension [Route] {
  func route(ifAnyFor method: String) -> Route? {
    first { $0.method == method || method == "HEAD" && $0.hasHead }
  }

  /// The route of `method`.
  ///
  /// - Throws: ``Failure/methodNotAllowed(allow:)``.
  func route(for method: String) throws -> Route {
    if let route = route(ifAnyFor: method) { return route }
    let allowed = flatMap { $0.hasHead ? ["GET", "HEAD"] : [$0.method] }
    throw Failure.methodNotAllowed(allow: allowed.joined(separator: ", "))
  }
}
