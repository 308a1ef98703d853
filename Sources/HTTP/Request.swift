import Base

/// One request, copied from libfcgi or from a CGI program's environment.
package struct Request: Sendable {
  /// The reason to reject a request.
  package enum Defect: Hashable, Sendable {
    /// `CONTENT_LENGTH` is over the server's limit; the body was discarded.
    case bodyTooLarge
    /// `CONTENT_LENGTH` is malformed or not the body's length; the body was discarded.
    case bodyIncomplete
    /// The path has an encoded slash, a backslash, a `..` segment, `//` or NUL: two programs could
    /// read two different paths.
    case ambiguousPath
  }

  /// `REQUEST_METHOD`, as sent.
  package let method: String
  /// The path, percent-decoded and without the site's base path, see ``RequestPaths``.
  package let path: String
  /// The web server's id of this request (nginx: `$request_id`). Empty if the web server sends no id,
  /// or an id that is not safe in fields, logs and rows.
  package var requestID: String
  /// Whether this is a request to a FastCGI authorizer (§6.3): the web server asks if it may let a request pass.
  /// 200 means yes, with variables in fields `Variable-…`; the web server sends any other answer to the client.
  package let isAuthorization: Bool
  /// The content; empty if the body has a defect.
  package let body: [UInt8]
  /// The defect for which the handler must reject the request; usually nil.
  package let defect: Defect?

  let parameters: Parameters
  private let paths: RequestPaths

  /// The request that `parameters` describe; nil without `REQUEST_METHOD`.
  ///
  /// - Parameter bodyDefect: The defect found while reading the body.
  package init?(
    _ parameters: Parameters, body: [UInt8], bodyDefect: Defect?,
    paths: RequestPaths = RequestPaths()
  ) {
    guard let method = parameters.text("REQUEST_METHOD"), !method.isEmpty else { return nil }
    self.init(
      method, paths.path(of: parameters), parameters, paths, body: body, bodyDefect: bodyDefect)
  }

  /// The path at which web servers ask whether a request may pass: nginx sends a subrequest, others use the
  /// authorizer role. `REQUEST_URI` holds the target of the client's request.
  package static let authorizationPath = "/_auth"

  /// Turns a call of the authorizer into a request, `GET` ``authorizationPath``; nil without `REQUEST_METHOD`.
  package init?(authorizing parameters: Parameters, paths: RequestPaths = RequestPaths()) {
    guard let method = parameters.text("REQUEST_METHOD"), !method.isEmpty else { return nil }
    self.init(
      "GET", Self.authorizationPath, parameters, paths, body: [], bodyDefect: nil,
      isAuthorization: true)
  }

  private init(
    _ method: String, _ path: String, _ parameters: Parameters, _ paths: RequestPaths,
    body: [UInt8], bodyDefect: Defect?, isAuthorization: Bool = false
  ) {
    self.method = method
    self.path = path
    self.isAuthorization = isAuthorization
    requestID =
      parameters.value("REQUEST_ID") { id in
        Self.isRequestID(id) ? String(decoding: id, as: UTF8.self) : ""
      } ?? ""
    self.body = body
    self.parameters = parameters
    self.paths = paths
    defect = bodyDefect ?? (Self.isPathAmbiguous(parameters, path) ? .ambiguousPath : nil)
  }

  /// Whether `text` is 1 to 64 letters, digits, `-`, `_` and `.`: a web server may copy a client's field.
  private static func isRequestID(_ text: Bytes) -> Bool {
    (1...64).contains(text.count)
      && text.allSatisfy { octet in
        switch octet {
        case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
        default: octet.isAlphanumeric
        }
      }
  }

  private static func isPathAmbiguous(_ parameters: Parameters, _ path: String) -> Bool {
    let judged = parameters.value("REQUEST_URI") { $0.isEmpty ? nil : isAmbiguous(target: $0) }
    if let isAmbiguous = judged ?? nil { return isAmbiguous }
    var path = path
    return path.withUTF8(isAmbiguous(target:))
  }

  /// The query as sent, without `?`.
  package var query: String { parameters.text("QUERY_STRING") ?? "" }

  /// The request target as the client sent it; in a subrequest of nginx, the target of the main request.
  package var requestURI: String { parameters.text("REQUEST_URI") ?? "" }

  /// The path of ``requestURI``, percent-decoded and without the site's base path, like ``path``.
  ///
  /// When a web server asks whether a request may pass, only this path decides.
  package var targetPath: String { paths.targetPath(of: parameters) ?? "" }

  /// The method of the client's request, when a web server asks whether that request may pass. An authorizer
  /// gets it in `REQUEST_METHOD`; a subrequest of nginx is always a GET and gets it in `GUARDED_METHOD`.
  package var guardedMethod: String {
    let asked = isAuthorization ? "REQUEST_METHOD" : "GUARDED_METHOD"
    return parameters.text(asked) ?? method
  }

  /// The client's address, as the web server sees it.
  package var remoteAddress: String { parameters.text("REMOTE_ADDR") ?? "" }

  /// The first value of the HTTP field `name`, such as `Content-Type`, in any case.
  package func field(_ name: String) -> String? {
    parameters.text(name, after: Self.prefix(ofField: name))
  }

  /// The credentials of the `Authorization` field, if its scheme is `scheme`, in any case (RFC 9110 §11.4).
  ///
  /// - Parameter scheme: Lower-case letters.
  package func credentials(_ scheme: StaticString) -> String? {
    let credentials = parameters.value("AUTHORIZATION", after: .http) { value -> String? in
      let scheme = Bytes(start: scheme.utf8Start, count: scheme.utf8CodeUnitCount)
      guard value.count > scheme.count, value[scheme.count] == UInt8(ascii: " ") else { return nil }
      // The bit 0x20 makes a letter lower case.
      for index in scheme.indices where value[index] | 0x20 != scheme[index] { return nil }
      let credentials = value.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") }
      return credentials.isEmpty ? nil : String(decoding: credentials, as: UTF8.self)
    }
    return credentials ?? nil
  }

  /// All values of the HTTP field `name`, also empty ones. There is one per field line if the web
  /// server does not join lines (nginx before 1.23).
  package func fieldValues(_ name: String) -> [String] {
    var values: [String] = []
    parameters.forEachValue(of: name, after: Self.prefix(ofField: name)) {
      values.append(String(decoding: $0, as: UTF8.self))
      return true
    }
    return values
  }

  /// `Content-Type` and `Content-Length` have meta-variables without `HTTP_` (RFC 3875 §4.1.2, §4.1.3).
  private static func prefix(ofField name: String) -> Parameters.Prefix {
    func matches(_ variable: StaticString) -> Bool {
      name.utf8.count == variable.utf8CodeUnitCount
        && zip(name.utf8, 0...).allSatisfy {
          Parameters.metaVariable($0) == variable.utf8Start[$1]
        }
    }
    return matches("CONTENT_TYPE") || matches("CONTENT_LENGTH") ? .none : .http
  }
}

extension Request {
  /// Makes a request for tests of handlers.
  ///
  /// - Parameter requestURI: The raw target; by default, `path` and `query`.
  /// - Parameter defect: The defect that the server would find in the body.
  package init(
    method: String = "GET", path: String = "/", query: String = "",
    fields: [(name: String, value: String)] = [], body: [UInt8] = [],
    remoteAddress: String = "127.0.0.1", requestID: String = "00000000000000000000000000000000",
    requestURI: String? = nil, defect: Defect? = nil
  ) {
    var parameters = Parameters()
    parameters.append("REQUEST_METHOD", method)
    parameters.append("SCRIPT_NAME", path)
    parameters.append("QUERY_STRING", query)
    parameters.append("REQUEST_URI", requestURI ?? (query.isEmpty ? path : "\(path)?\(query)"))
    parameters.append("REMOTE_ADDR", remoteAddress)
    parameters.append("REQUEST_ID", requestID)
    parameters.append("CONTENT_LENGTH", body.isEmpty ? "" : String(body.count))
    for field in fields {
      let prefix = Self.prefix(ofField: field.name) == .http ? "HTTP_" : ""
      let name = String(
        decoding: field.name.utf8.map(Parameters.metaVariable), as: UTF8.self)
      parameters.append(prefix + name, field.value)
    }
    guard let request = Request(parameters, body: body, bodyDefect: defect) else {
      preconditionFailure("a request has a method")
    }
    self = request
  }
}
