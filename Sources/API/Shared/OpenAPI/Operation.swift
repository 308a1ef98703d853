import Base
import HTTP
import Store

/// A handler with its description.
struct Endpoint: Sendable {
  typealias Handler = @Sendable (Request, borrowing Context) throws -> Response

  /// The name of the property that makes the endpoint.
  let name: String
  let handler: Handler
  /// The read that answers several requests together, if the endpoint has one.
  let grouped: GroupedRead?
  /// Made only for the description of the API, so that the responder starts without it.
  let operation: @Sendable () -> Operation

  init(
    _ handler: @escaping Handler, grouped: GroupedRead? = nil, name: String = #function,
    operation: @escaping @Sendable () -> Operation
  ) {
    self.name = String(name.prefix { $0 != "(" })
    self.handler = handler
    self.grouped = grouped
    self.operation = operation
  }
}

/// The description of an endpoint for clients (OpenAPI 3.1, Operation Object).
struct Operation: Sendable {
  /// A value in the path, the query or a header field.
  struct Parameter: Sendable {
    let name: String
    let meaning: String
    var schema = Schema.string
    var isRequired = false

    init(_ name: String, _ meaning: String, _ schema: Schema = .string, isRequired: Bool = false) {
      self.name = name
      self.meaning = meaning
      self.schema = schema
      self.isRequired = isRequired
    }
  }

  /// The value for `:name` in a path.
  struct Item: Sendable {
    let meaning: String
    let schema: Schema

    init(_ meaning: String, _ schema: Schema = .string) {
      self.meaning = meaning
      self.schema = schema
    }
  }

  struct Body: Sendable {
    let type: String
    let schema: Schema
    let isRequired: Bool
  }

  struct Answer: Sendable {
    let status: Int
    let meaning: String
    /// The media type of the content; nil without content.
    var type: String?
    var schema = Schema.any
    /// Fields that the answer always has.
    var fields: [String] = []
  }

  /// Sentences; the first one is the summary.
  let text: String
  let access: Access
  let item: Item?
  let query: [Parameter]
  let fields: [Parameter]
  let body: Body?
  let answers: [Answer]
  /// Errors that not every operation has.
  let errors: [Failure]
  /// The limits over which a request gets 429.
  let limits: [Limit]

  init(
    _ text: String, _ access: Access = .open, item: Item? = nil,
    query: [Parameter] = [], fields: [Parameter] = [], body: Body? = nil,
    answers: Answer..., errors: [Failure] = [], limits: [Limit] = []
  ) {
    precondition(limits.allSatisfy { !$0.counts.isEmpty }, "the limit refuses no request")
    self.text = text
    self.access = access
    self.item = item
    self.query = query
    self.fields = fields
    self.body = body
    self.answers = answers
    self.errors = errors
    self.limits = limits
  }

  var summary: String {
    text.firstRange(of: ". ").map { "\(text[..<$0.lowerBound])." } ?? text
  }
}

extension Operation.Body {
  /// JSON from which all of `types` decode.
  static func json(_ types: any Decodable.Type..., isRequired: Bool = true) -> Self {
    .json(types.map { Schema(of: $0) }.reduce([:]) { $0.merging($1) }, isRequired: isRequired)
  }

  static func json(_ schema: Schema, isRequired: Bool = true) -> Self {
    Self(type: "application/json", schema: schema, isRequired: isRequired)
  }

  static func form(_ schema: Schema) -> Self {
    Self(type: "application/x-www-form-urlencoded", schema: schema, isRequired: true)
  }
}

extension Operation.Answer {
  static func json(
    _ schema: Schema, meaning: String = "Done.", fields: [String] = []
  ) -> Self {
    .json(200, schema, meaning: meaning, fields: fields)
  }

  static func json(
    _ status: Int, _ schema: Schema, meaning: String, fields: [String] = []
  ) -> Self {
    Self(status: status, meaning: meaning, type: "application/json", schema: schema, fields: fields)
  }

  /// `{"success": true}`
  static let success = Self.json(["success": .boolean])

  /// A page for people.
  static func page(_ meaning: String) -> Self {
    Self(
      status: 200, meaning: meaning, type: "text/html", schema: .string,
      fields: ["Content-Security-Policy", "Content-Language"])
  }

  static func redirect(_ status: Int, _ meaning: String) -> Self {
    Self(status: status, meaning: meaning, fields: ["Location"])
  }

  static func content(_ type: String, _ meaning: String, fields: [String] = []) -> Self {
    Self(status: 200, meaning: meaning, type: type, schema: .string, fields: fields)
  }
}
