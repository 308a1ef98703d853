import Base
import HTTP

/// `OPTIONS` of a push route: tells a browser whether its page may call.
///
/// - Throws: ``Failure/methodNotAllowed(allow:)`` if the page wants a method other than POST (in any letter case)
///   or several methods. Ignores empty list elements (RFC 9110 §5.6.1.2).
func answerPreflight(_ request: Request, in context: borrowing Context) throws -> Response {
  let methods = request.fieldValues("Access-Control-Request-Method")
    .flatMap { $0.split(separator: ",") }.map { String($0).trimmed }.filter { !$0.isEmpty }
  guard methods.isEmpty || methods.map({ $0.uppercased() }) == ["POST"] else {
    throw Failure.methodNotAllowed(allow: CrossOriginPolicy.methods)
  }
  let names = request.requestedFieldNames
  return Response(
    status: 204,
    fields: names.isEmpty
      ? [] : [("Access-Control-Allow-Headers", names.joined(separator: ", "))])
}

extension Request {
  /// The field names in `Access-Control-Request-Headers`: names of at most 128 characters, each once in its
  /// first spelling; at most 50, from the first 200 in the list.
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
  /// Whether the text is a token (RFC 9110 §5.6.2).
  fileprivate var isFieldName: Bool {
    !isEmpty && utf8.allSatisfy { $0.isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }
}

extension Endpoint {
  static var answerPreflight: Endpoint {
    Endpoint(API.answerPreflight) {
      Operation.push(
        "Tells a browser whether its page may call.", .open,
        answer: .init(
          status: 204, meaning: "The page may call.",
          fields: ["Access-Control-Allow-Origin", "Access-Control-Allow-Methods"]),
        errors: [.methodNotAllowed(allow: CrossOriginPolicy.methods)])
    }
  }
}
