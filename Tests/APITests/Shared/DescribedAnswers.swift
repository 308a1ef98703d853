import Base
import HTTP
import Testing

@testable import API

/// Compares all answers in the tests with the description of the API. So each test of an endpoint also finds statuses, fields
/// and members that its description lacks.
struct DescribedAnswers {
  static let ofTests = DescribedAnswers()

  let document = APIDescription(of: Family.all, in: .ofTests()).json
  private let router = Router(Family.all)

  /// Records an issue for each difference between the description and `response`.
  static func check(_ response: Response, to request: Request) {
    for problem in ofTests.problems(of: response, to: request) {
      Issue.record("\(request.method) \(request.path) \(response.status): \(problem)")
    }
  }

  func problems(of response: Response, to request: Request) -> [String] {
    guard let found = request.defect == .ambiguousPath ? nil : router.match(request.path),
      let route = try? found.routes.route(for: request.method)
    else {
      // The family of an unknown path may refuse it before.
      return [400, 403, 404, 405, 413].contains(response.status) ? [] : ["no route has this status"]
    }
    guard let operation = document["paths", route.templatePath, route.method.lowercased()],
      let listed = operation["responses", "\(response.status)"]
    else { return ["the status is not listed"] }
    let described = resolved(listed)
    return problems(ofFields: response, described) + problems(ofBody: response, described)
      + problems(ofBody: request, operation, to: response)
  }

  private func problems(ofFields response: Response, _ described: JSONValue) -> [String] {
    let names = Set(response.fields.map { $0.name.lowercased() })
    return (described["headers"]?.members ?? []).map(\.name)
      .filter { !names.contains($0.lowercased()) }.map { "the field \($0) is missing" }
  }

  private func problems(ofBody response: Response, _ described: JSONValue) -> [String] {
    let type = mediaType(response.fields.first { $0.name == "Content-Type" }?.value)
    guard let content = described["content"] else {
      return type == nil && response.body.isEmpty ? [] : ["the answer has content"]
    }
    guard let type, let schema = content[type]?["schema"] else {
      return ["the content is of type \(type ?? "none")"]
    }
    guard type.hasSuffix("json") else { return [] }
    guard let value = try? JSONValue(response.body) else { return ["the body is not JSON"] }
    return SchemaCheck(document: document, isClosed: true, isExact: true).problems(
      of: value, as: schema)
  }

  /// A request that the handler accepts has a body of the described form.
  private func problems(
    ofBody request: Request, _ operation: JSONValue, to response: Response
  ) -> [String] {
    // The description has one of several spellings that the attestation routes take.
    guard response.status < 300, !request.body.isEmpty,
      operation["tags"]?.elements.first?.string != "attestation",
      let schema = operation["requestBody", "content", "application/json", "schema"],
      let value = try? JSONValue(request.body)
    else { return [] }
    return SchemaCheck(document: document, isClosed: false, isExact: false).problems(
      of: value, as: schema
    )
    .map { "the request: \($0)" }
  }

  private func resolved(_ value: JSONValue) -> JSONValue {
    document.referenced(by: value) ?? value
  }

  private func mediaType(_ field: String?) -> String? {
    field?.split(separator: ";").first.map(String.init)
  }
}

extension JSONValue {
  var members: [(name: String, value: JSONValue)] {
    if case .object(let members) = self { members } else { [] }
  }

  var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }

  var string: String? { if case .string(let text) = self { text } else { nil } }

  subscript(path: String...) -> JSONValue? {
    path.reduce(self) { value, name in value?.members.first { $0.name == name }?.value }
  }

  /// The part of this document to which a reference points.
  func referenced(by value: JSONValue) -> JSONValue? {
    guard let reference = value["$ref"]?.string else { return nil }
    return reference.split(separator: "/").dropFirst()
      .reduce(self) { part, name in part?[String(name)] }
  }
}
