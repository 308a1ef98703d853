import Base
import HTTP

/// The description of all endpoints for programs, OpenAPI 3.1. It is made of the routes and of the values with which they
/// decode and refuse requests.
struct APIDescription {
  private let settings: Settings
  private var paths: [(path: String, methods: [(name: String, value: JSONValue)])] = []
  private var schemas: [(name: String, value: JSONValue)] = []
  private var responses: [(name: String, value: JSONValue)] = []
  /// The names of ``responses``, by the start of the name and the content.
  private var responseNames: [[UInt8]: String] = [:]
  private var uses: [String: Int] = [:]
  private let tags: [JSONValue]

  init(of families: [Family], in settings: Settings) {
    self.settings = settings
    tags = families.map { ["name": .string($0.name), "description": .string($0.purpose)] }
    for family in families {
      for route in family.routes + family.relayed { add(route, of: family) }
    }
  }

  var json: JSONValue {
    [
      "openapi": "3.1.1",
      "info": [
        "title": "Switchboard", "version": .string(Product.version),
        "description": .string(Self.text),
      ],
      "servers": [["url": .string(settings.publicURL)]],
      "tags": .array(tags),
      "paths": .object(paths.map { ($0.path, .object($0.methods)) }),
      "components": [
        "schemas": .object(schemas), "responses": .object(responses),
        "headers": .object(Self.commonFields.map { ($0, Self.header($0)) }),
        "securitySchemes": .object(
          Access.Credential.allCases.map { ($0.rawValue, $0.scheme(in: settings)) }),
      ],
    ]
  }

  static let text = """
    Bodies have at most \(Application.bodyLimit) bytes.
    A path that is not here answers 404, and another method 405 with the field `Allow`, both in the error shape of its family.
    A GET route also answers HEAD, unless it changes data.
    An answer with 429 or 503 has `Retry-After`, in seconds.
    Show a `message` to people as it is: it is in the language of `Accept-Language`.
    Ignore members that you do not know.
    `x-rate-limits` has the limits that an operation counts; the site's web server may have others. In a limit, an IPv6 address \
    stands for its /64 network, and its /48 network may do more. A known device has signed in to the account before.
    """

  /// Fields of every answer.
  private static let commonFields = ["X-Request-Id", "Cache-Control"]

  private mutating func add(_ route: Route, of family: Family) {
    let operation = route.endpoint.operation()
    let name = route.endpoint.name
    uses[name, default: 0] += 1
    let id = uses[name]! == 1 ? name : "\(name)\(uses[name]!)"
    var members: [(name: String, value: JSONValue)] = [
      ("tags", [.string(family.name)]), ("operationId", .string(id)),
      ("summary", .string(operation.summary)),
    ]
    if operation.text != operation.summary {
      members.append(("description", .string(operation.text)))
    }
    members.append(("security", security(of: operation)))
    if !operation.limits.isEmpty {
      members.append(("x-rate-limits", .array(operation.limits.map(\.json))))
    }
    let parameters = self.parameters(of: operation, at: route)
    if !parameters.isEmpty { members.append(("parameters", .array(parameters))) }
    if let body = operation.body {
      members.append(
        (
          "requestBody",
          ["required": .boolean(body.isRequired), "content": content(body.type, body.schema)]
        ))
    }
    members.append(("responses", answers(of: operation, at: route, of: family)))
    let method = (route.method.lowercased(), JSONValue.object(members))
    let path = route.templatePath
    if let index = paths.firstIndex(where: { $0.path == path }) {
      paths[index].methods.append(method)
    } else {
      paths.append((path, [method]))
    }
  }

  private func security(of operation: Operation) -> JSONValue {
    .array(operation.access.alternatives.map { .object($0.map { ($0.rawValue, []) }) })
  }

  private mutating func parameters(of operation: Operation, at route: Route) -> [JSONValue] {
    var found: [(place: String, parameter: Operation.Parameter)] = []
    if let item = operation.item, let name = route.itemName {
      found.append(
        ("path", Operation.Parameter(name, item.meaning, item.schema, isRequired: true)))
    }
    found += operation.query.map { ("query", $0) } + operation.fields.map { ("header", $0) }
    return found.map { place, parameter in
      [
        "name": .string(parameter.name), "in": .string(place),
        "description": .string(parameter.meaning), "required": .boolean(parameter.isRequired),
        "schema": share(parameter.schema),
      ]
    }
  }

  private mutating func answers(
    of operation: Operation, at route: Route, of family: Family
  ) -> JSONValue {
    var found = operation.answers.map { answer in
      (
        "\(answer.status)",
        response(
          answer.meaning, answer.fields, answer.type.map { content($0, answer.schema) })
      )
    }
    for answer in operation.errorAnswers(at: route, of: family) {
      found.append(
        (
          "\(answer.status)",
          shared(
            response(answer.meaning, answer.fields, content(answer.type!, answer.schema)),
            named: "\(family.name)\(answer.status)")
        ))
    }
    return .object(found)
  }

  private mutating func response(
    _ meaning: String, _ fields: [String], _ content: JSONValue?
  ) -> JSONValue {
    let common = Self.commonFields.map { name in
      (name, ["$ref": .string("#/components/headers/\(name)")] as JSONValue)
    }
    var members: [(name: String, value: JSONValue)] = [
      ("description", .string(meaning)),
      (
        "headers",
        .object(
          common
            + fields.filter { !Self.commonFields.contains($0) }.map {
              ($0, Self.header($0))
            })
      ),
    ]
    if let content { members.append(("content", content)) }
    return .object(members)
  }

  private static func header(_ name: String) -> JSONValue {
    [
      "required": true,
      "schema": (name == "Retry-After" ? Schema.integer.with("minimum", 1) : .string).json,
    ]
  }

  private mutating func content(_ type: String, _ schema: Schema) -> JSONValue {
    [type: ["schema": share(schema)]]
  }

  /// Puts the named schemas of `schema` where references find them.
  private mutating func share(_ schema: Schema) -> JSONValue {
    for part in schema.all where !part.name.isEmpty {
      guard !schemas.contains(where: { $0.name == part.name }) else { continue }
      schemas.append((part.name, part.definition))
    }
    return schema.json
  }

  /// A reference to `response`, of which the description has one copy.
  private mutating func shared(_ response: JSONValue, named name: String) -> JSONValue {
    let key = name.utf8 + response.text
    if let same = responseNames[key] { return reference(toResponse: same) }
    let own = responses.count { $0.name.hasPrefix(name) }
    let found = own == 0 ? name : "\(name)-\(own + 1)"
    responses.append((found, response))
    responseNames[key] = found
    return reference(toResponse: found)
  }

  private func reference(toResponse name: String) -> JSONValue {
    ["$ref": .string("#/components/responses/\(name)")]
  }
}

extension Route {
  /// The path as OpenAPI writes it: `{name}` instead of `:name`.
  var templatePath: String {
    path.split(separator: "/", omittingEmptySubsequences: false)
      .map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0) }.joined(separator: "/")
  }

  /// `name` of `:name` in the path.
  var itemName: String? {
    path.split(separator: "/").first { $0.hasPrefix(":") }.map { String($0.dropFirst()) }
  }
}

extension Operation {
  /// The answers to requests that the operation refuses: one for each status.
  func errorAnswers(at route: Route, of family: Family) -> [Answer] {
    let failures =
      access.errors + (body?.type == "application/json" ? Failure.ofBodies : []) + errors
      + Failure.common
    let isPage =
      family.errorPage?(.notFound, Request(method: route.method, path: route.path)) != nil
    let statuses = Set(failures.map(\.status)).subtracting(answers.map(\.status)).sorted()
    return statuses.map { status in
      let same = failures.filter { $0.status == status }
      var meanings: [String] = []
      for failure in same where !meanings.contains(failure.message) {
        meanings.append(failure.message)
      }
      if status == 429 { meanings += limits.map(\.sentence) }
      return Answer(
        status: status, meaning: meanings.joined(separator: "\n"),
        type: isPage ? "text/html" : "application/json",
        schema: isPage ? .string : family.errors.schema(of: same),
        fields: same[0].fields.map(\.name).filter { name in
          same.allSatisfy { $0.fields.contains { $0.name == name } }
        })
    }
  }
}
