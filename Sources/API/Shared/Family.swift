import Base
import HTTP
import Store

/// One family of apps: its paths, its routes and the form of its errors.
package struct Family: Sendable {
  package let name: String
  /// One sentence about the family for the developers of clients.
  let purpose: String
  /// Paths of the family. A path that ends in `/` includes everything below it; another path matches
  /// exactly. nginx's files have the same paths.
  package let paths: [String]
  /// The form of the family's errors.
  let errors: ErrorShape
  let routes: [Route]
  /// Routes that the web server passes to another program. They are only described.
  let relayed: [Route]
  /// Paths, each with `/` at both ends. The log hides everything below them.
  let secretPaths: [String]
  /// The family's sections of the account page, in this order.
  let sections: [AccountSection]
  /// Runs before each route of the family, for every method.
  var before: (@Sendable (Request, borrowing Context) throws -> Void)?
  /// Runs on every answer to a path of the family.
  var after: (@Sendable (inout Response, Request, borrowing Context) -> Void)?
  /// Makes a page of a failure for people; nil for requests of programs.
  var errorPage: (@Sendable (Failure, Request) -> Response?)?

  init(
    _ name: String, _ purpose: String, paths: [String], errors: ErrorShape, routes: [Route],
    relayed: [Route] = [], secretPaths: [String] = [], sections: [AccountSection] = [],
    before: (@Sendable (Request, borrowing Context) throws -> Void)? = nil,
    after: (@Sendable (inout Response, Request, borrowing Context) -> Void)? = nil,
    errorPage: (@Sendable (Failure, Request) -> Response?)? = nil
  ) {
    self.name = name
    self.purpose = purpose
    self.paths = paths
    self.errors = errors
    self.routes = routes
    self.relayed = relayed
    self.secretPaths = secretPaths
    self.sections = sections
    self.before = before
    self.after = after
    self.errorPage = errorPage
  }

  func response(to failure: Failure, of request: Request) -> Response {
    errorPage?(failure, request) ?? errors.response(to: failure, of: request)
  }

  /// The length in bytes of the family's longest path that matches `path`; 0 if no path matches.
  func matchLength(of path: String) -> Int {
    var longest = 0
    for own in paths where own.utf8.count > longest {
      if own.hasSuffix("/") ? path.hasPrefix(own) : path == own { longest = own.utf8.count }
    }
    return longest
  }
}

/// The form of a family's errors.
struct ErrorShape: Sendable {
  /// Writes the members of the body; `code` is the failure's own code or the code of its status.
  let write: @Sendable (_ failure: Failure, _ code: String, _ json: inout JSONWriter) -> Void
  /// Codes that differ from ``Failure/defaultCode``, by status.
  var codes: [Int: String] = [:]
  /// The language of the answer's text for people; nil if a program reads the answer.
  var language: @Sendable (Request) -> Language? = { _ in nil }

  /// `{"error": message}`
  static let message = ErrorShape { failure, _, json in json.member("error", failure.message) }

  func response(to failure: Failure, of request: Request) -> Response {
    guard let sentence = failure.sentence, let language = language(request) else {
      return response(to: failure)
    }
    var failure = failure
    failure.message = sentence(Messages(in: language))
    return response(to: failure).written(in: language)
  }

  private func response(to failure: Failure) -> Response {
    var response = Response.json(failure.status) { json in write(failure, code(of: failure), &json)
    }
    response.fields += failure.fields
    return response
  }

  /// The machine-readable code of `failure`.
  func code(of failure: Failure) -> String {
    failure.code ?? codes[failure.status] ?? failure.defaultCode
  }
}

extension JSONWriter {
  /// Writes the member `details`, `{"field", "reason", "value"}`, if the failure names a member.
  mutating func details(of failure: Failure) {
    guard let detail = failure.detail else { return }
    member(
      "details",
      object: { details in
        details.member("field", detail.field)
        details.member("reason", detail.reason)
        if let value = detail.value { details.member("value", value) }
      })
  }
}

extension Response {
  static func json(
    _ status: Int = 200, _ members: (inout JSONWriter) throws -> Void
  ) rethrows -> Response {
    Response(
      status: status, fields: [("Content-Type", "application/json")],
      body: try JSONWriter.object(members))
  }
}
