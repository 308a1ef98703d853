import FastCGI
import Store

/// The families of apps; each has its own shape of error.
enum Family {
  case preferences, attestation, push, wallet, site

  init(path: String) {
    if path.hasPrefix("/api/v1/") {
      self = .preferences
    } else if path.hasPrefix("/api/app-attestation/") {
      self = .attestation
    } else if path.hasPrefix("/api/push/") {
      self = .push
    } else if ["/api/mobile/", "/api/enrollment/", "/api/merchant/"].contains(
      where: path.hasPrefix)
    {
      self = .wallet
    } else {
      self = .site
    }
  }

  func response(to failure: Failure) -> Response {
    let code = failure.code ?? code(forStatus: failure.status)
    var response = Response.json(failure.status) { json in
      switch self {
      case .preferences:
        json.member("error", object: { $0.error(code, failure) })
      case .attestation:
        json.member("success", false)
        json.member("error", failure.message)
      case .wallet:
        json.member("error", code)
        json.member("message", failure.message)
      case .push:
        json.member("error", failure.pushMessage)
        failure.diagnostics?(&json)
      case .site:
        json.member("error", failure.message)
      }
    }
    response.fields += failure.fields
    return response
  }

  private func code(forStatus status: Int) -> String {
    switch (status, self) {
    case (400, .preferences): "validation_error"
    case (400, _): "bad_request"
    case (401, _): "unauthorized"
    case (403, _): "forbidden"
    case (404, _): "not_found"
    case (405, _): "method_not_allowed"
    case (409, _): "conflict"
    case (413, _): "payload_too_large"
    case (429, .preferences): "rate_limited"
    case (429, _): "too_many_requests"
    default: "server_error"
    }
  }
}

extension Failure {
  /// Push has words of its own for who may not come in.
  fileprivate var pushMessage: String {
    guard status == 401 else { return message }
    return message == Failure.noCredentials.message
      ? "Unauthorized - missing credentials" : "Unauthorized - invalid token"
  }
}

extension JSONWriter {
  /// The members of the error object of the preferences' family.
  mutating func error(_ code: String, _ failure: Failure) {
    member("code", code)
    member("message", failure.message)
    guard let detail = failure.detail else { return }
    member("details") { details in
      details.member("field", detail.field)
      details.member("reason", detail.reason)
      if let value = detail.value { details.member("value", value) }
    }
  }

  private mutating func member(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
    member(name, object: members)
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
