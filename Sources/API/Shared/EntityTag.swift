import Base
import Cryptography
import HTTP

extension Response {
  /// This answer with a tag of its content; without the content if the client has it already (RFC 9110 §13.1.2).
  func tagged(for request: Request) -> Response {
    var response = self
    let tag = "\"\(hexEncoded(Array(sha256(body).prefix(16))))\""
    if request.accepts(entityTag: tag) {
      response.status = 304
      response.body = []
      response.fields.removeAll { $0.name == "Content-Type" }
    }
    response.fields.append(("ETag", tag))
    return response
  }
}

extension Request {
  /// Whether `If-None-Match` names `tag` or `*`.
  fileprivate func accepts(entityTag tag: String) -> Bool {
    fieldValues("If-None-Match").contains { value in
      value.split(separator: ",").contains { candidate in
        let candidate = String(candidate).trimmed
        return candidate == "*" || candidate == tag || candidate == "W/" + tag
      }
    }
  }
}

extension Operation.Parameter {
  static let ifNoneMatch = Self("If-None-Match", "The `ETag` of the answer that the client has.")
}

extension Operation.Answer {
  static let notModified = Self(
    status: 304, meaning: "The client has this answer already.", fields: ["ETag"])
}
