import HTTP

/// One method of one path; a path may hold one `:name`, which stands for a whole segment.
struct Route: Sendable {
  typealias Handler = @Sendable (Request, borrowing Context) throws -> Response

  let method: String
  let path: String
  let handler: Handler
  /// Whether HEAD is answered too. A GET that changes something does not answer HEAD, which must be
  /// safe (RFC 9110 §9.2.1).
  let hasHead: Bool

  init(
    _ method: String, _ path: String, changes: Bool = false, _ handler: @escaping Handler
  ) {
    self.method = method
    self.path = path
    self.handler = handler
    hasHead = method == "GET" && !changes
  }
}

/// Finds the route of a request.
struct Router: Sendable {
  /// By path.
  private var exact: [String: [Route]] = [:]
  /// By path, with `:` alone in place of `:name`, which stands in the last segment or the one before.
  private var patterns: [String: [Route]] = [:]

  init(_ routes: [Route]) {
    for route in routes {
      let segments = route.path.split(separator: "/", omittingEmptySubsequences: false)
      let pattern = segments.map { $0.hasPrefix(":") ? ":" : $0 }.joined(separator: "/")
      if pattern == route.path {
        exact[pattern, default: []].append(route)
      } else {
        patterns[pattern, default: []].append(route)
      }
    }
  }

  /// The routes of `path`, whatever their method, and what stands in it for `:name`; nil for an
  /// unknown path.
  func routes(at path: String) -> (routes: [Route], pathItem: String)? {
    if let routes = exact[path] { return (routes, "") }
    var segments = path.split(separator: "/", omittingEmptySubsequences: false)
    for index in segments.indices.suffix(2).reversed() where !segments[index].isEmpty {
      let item = String(segments[index])
      segments[index] = ":"
      if let routes = patterns[segments.joined(separator: "/")] { return (routes, item) }
      segments[index] = Substring(item)
    }
    return nil
  }
}

extension [Route] {
  /// The route of `method`.
  ///
  /// - Throws: ``Failure/methodNotAllowed(allow:)``.
  func route(for method: String) throws -> Route {
    if let route = first(where: { $0.method == method || method == "HEAD" && $0.hasHead }) {
      return route
    }
    let allowed = flatMap { $0.hasHead ? ["GET", "HEAD"] : [$0.method] }
    throw Failure.methodNotAllowed(allow: allowed.joined(separator: ", "))
  }
}
