import Base
import Cryptography
import HTTP

/// An answer with a tag of its content.
struct TaggedResponse: Sendable {
  private let response: Response
  private let tag: String

  init(_ response: Response) {
    tag = "\"\(hexEncoded(Array(sha256(response.body).prefix(16))))\""
    var tagged = response
    tagged.fields.append(("ETag", tag))
    self.response = tagged
  }

  /// The answer; without the content if the client has it already (RFC 9110 §13.1.2).
  func answer(to request: Request) -> Response {
    guard request.accepts(entityTag: tag) else { return response }
    return Response(
      status: 304, fields: response.fields.filter { $0.name != "Content-Type" })
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
