import Base

/// The form of a JSON value, in the part of JSON Schema (draft 2020-12) that the description of the API needs.
struct Schema: Sendable {
  struct Member: Sendable {
    let name: String
    var schema: Schema
    let isRequired: Bool
  }

  /// Types of JSON; empty for any value.
  var types: [String] = []
  /// Further keywords, such as `maxLength`.
  var keywords: [(name: String, value: JSONValue)] = []
  /// The members of an object.
  var members: [Member] = []
  /// The form of an array's elements: one schema, or none for any element.
  var elements: [Schema] = []
  /// The value has one of these forms; empty for a value of ``types``.
  var choices: [Schema] = []
  /// The name under which the description shares this schema; empty if it does not.
  var name = ""
}

extension Schema {
  static let any = Schema()
  static let string = Schema(types: ["string"])
  static let boolean = Schema(types: ["boolean"])
  static let integer = Schema(types: ["integer"])
  static let number = Schema(types: ["number"])
  static let email = string.with("format", "email")
  static let uuid = string.with("format", "uuid")
  static let uri = string.with("format", "uri")
  /// A time of RFC 3339.
  static let time = string.with("format", "date-time")
  /// Bytes in base64url without padding.
  static let base64URL = string.with("contentEncoding", "base64url")
  static let base64 = string.with("contentEncoding", "base64")
  /// A signed token (RFC 7519).
  static let token = string.with("pattern", #"^[\w-]+\.[\w-]+\.[\w-]+$"#)

  static func text(atMost count: Int) -> Schema {
    string.with("minLength", 1).with("maxLength", .number(count))
  }

  static func words(_ words: [String]) -> Schema {
    string.with("enum", .array(words.map { .string($0) }))
  }

  static func array(of element: Schema, atMost count: Int? = nil) -> Schema {
    var schema = Schema(types: ["array"])
    schema.elements = [element]
    return count.map { schema.with("maxItems", .number($0)) } ?? schema
  }

  /// An object with any names, and values of one form.
  static func map(of value: Schema) -> Schema {
    Schema(types: ["object"]).with("additionalProperties", value.json)
  }

  static func oneOf(_ choices: Schema...) -> Schema { Schema(choices: choices) }

  func with(_ keyword: String, _ value: JSONValue) -> Schema {
    var schema = self
    schema.keywords.append((keyword, value))
    return schema
  }

  /// This schema with a value that has the form.
  func example(_ value: JSONValue) -> Schema { with("examples", .array([value])) }

  func named(_ name: String) -> Schema {
    var schema = self
    schema.name = name
    return schema
  }

  /// This form, or null.
  var orNull: Schema {
    var schema = self
    if !choices.isEmpty || !name.isEmpty {
      return Schema(choices: [self, Schema(types: ["null"])])
    }
    if !types.isEmpty, !types.contains("null") { schema.types.append("null") }
    // An enumeration must have null too.
    schema.keywords = schema.keywords.map { name, value in
      if name == "enum", case .array(let words) = value {
        (name, .array(words + [.null]))
      } else {
        (name, value)
      }
    }
    return schema
  }

  /// An object with the members of both. A member of both is required if one of them requires it.
  func merging(_ other: Schema) -> Schema {
    var schema = self
    schema.name = ""
    schema.types = ["object"]
    for member in other.members {
      guard let index = schema.members.firstIndex(where: { $0.name == member.name }) else {
        schema.members.append(member)
        continue
      }
      if member.isRequired { schema.members[index] = member }
    }
    return schema
  }

  /// An object whose members may all be missing.
  var orMissing: Schema {
    var schema = self
    schema.members = members.map { Member(name: $0.name, schema: $0.schema, isRequired: false) }
    return schema
  }

  subscript(keyword: String) -> JSONValue? { keywords.first { $0.name == keyword }?.value }

  /// The value given to ``example(_:)``, in this schema or in its first choice.
  var example: JSONValue? {
    if case .array(let values)? = self["examples"] { return values.first }
    return choices.first?.example
  }

  /// This schema and all schemas in it.
  var all: [Schema] {
    [self] + (members.map(\.schema) + elements + choices).flatMap(\.all)
  }

  /// The schema as JSON: a reference if it has a name.
  var json: JSONValue {
    name.isEmpty ? definition : ["$ref": .string("#/components/schemas/\(name)")]
  }

  var definition: JSONValue {
    var found: [(name: String, value: JSONValue)] = []
    switch types.count {
    case 0: break
    case 1: found.append(("type", .string(types[0])))
    default: found.append(("type", .array(types.map { .string($0) })))
    }
    if !choices.isEmpty { found.append(("anyOf", .array(choices.map(\.json)))) }
    found += keywords
    if let element = elements.first { found.append(("items", element.json)) }
    if !members.isEmpty {
      found.append(("properties", .object(members.map { ($0.name, $0.schema.json) })))
      let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
      if !required.isEmpty { found.append(("required", .array(required))) }
    }
    return .object(found)
  }
}

/// An object: `["id": .uuid, "logoUrl?": .uri]`. A name that ends in `?` may be missing.
extension Schema: ExpressibleByDictionaryLiteral {
  init(dictionaryLiteral members: (String, Schema)...) {
    types = ["object"]
    self.members = members.map { name, schema in
      let isOptional = name.hasSuffix("?")
      return Member(
        name: isOptional ? String(name.dropLast()) : name, schema: schema, isRequired: !isOptional)
    }
  }
}
