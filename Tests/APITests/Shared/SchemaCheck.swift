import Base
import Cryptography
import Foundation

/// Checks values against schemas, in the part of JSON Schema that the description of the API uses.
struct SchemaCheck {
  let document: JSONValue
  /// Whether a member without a schema is a problem.
  let isClosed: Bool
  /// Whether texts and numbers must be as described. The server also takes others, such as an address in capital letters.
  let isExact: Bool

  func problems(of value: JSONValue, as schema: JSONValue, at path: String = "body") -> [String] {
    if let definition = document.referenced(by: schema) {
      return problems(of: value, as: definition, at: path)
    }
    let keywords = schema.members.flatMap { keyword in
      problem(of: value, keyword.name, keyword.value, in: schema).map { ["\(path): \($0)"] } ?? []
    }
    return keywords + inner(value, schema, at: path)
  }

  /// Problems of the members of an object and of the elements of an array.
  private func inner(_ value: JSONValue, _ schema: JSONValue, at path: String) -> [String] {
    switch value {
    case .object(let members):
      guard schema["properties"] != nil || schema["additionalProperties"] != nil else { return [] }
      return members.flatMap { member in
        let others = schema["additionalProperties"]
        if case .boolean(true)? = others { return [] as [String] }
        guard let own = schema["properties", member.name] ?? others else {
          return isClosed ? ["\(path).\(member.name): not described"] : []
        }
        return problems(of: member.value, as: own, at: "\(path).\(member.name)")
      }
    case .array(let elements):
      guard let item = schema["items"] else { return [] }
      return elements.flatMap { problems(of: $0, as: item, at: "\(path)[]") }
    default: return []
    }
  }

  private func problem(
    of value: JSONValue, _ keyword: String, _ limit: JSONValue, in schema: JSONValue
  ) -> String? {
    func fails(_ isRight: Bool) -> String? {
      isRight ? nil : "\(value.text) against \(keyword) \(limit.text)"
    }
    switch keyword {
    case "enum" where !isExact: return nil
    case "type": return fails(isOfType(value, limit))
    case "enum": return fails(limit.elements.contains { $0.text == value.text })
    case "anyOf":
      return fails(limit.elements.contains { problems(of: value, as: $0).isEmpty })
    case "required":
      let missing = limit.elements.compactMap(\.string).filter { value[$0] == nil }
      guard case .object = value else { return nil }
      return missing.isEmpty ? nil : "misses \(missing)"
    case "minLength", "maxLength", "pattern", "format", "contentEncoding":
      guard isExact else { return nil }
      return value.string.flatMap { fails(isRight($0, keyword, limit)) }
    case "minimum": return value.number.flatMap { fails($0 >= limit.number!) }
    case "maximum": return value.number.flatMap { fails($0 <= limit.number!) }
    case "maxItems": return fails(Double(value.elements.count) <= limit.number!)
    case "items", "properties", "additionalProperties", "examples": return nil
    default: return "the tests do not know the keyword \(keyword)"
    }
  }

  private func isOfType(_ value: JSONValue, _ types: JSONValue) -> Bool {
    let words = types.string.map { [$0] } ?? types.elements.compactMap(\.string)
    return switch value {
    case .null: words.contains("null")
    case .boolean: words.contains("boolean")
    case .string: words.contains("string")
    case .array: words.contains("array")
    case .object: words.contains("object")
    case .number:
      words.contains("number")
        || words.contains("integer") && value.number!.rounded() == value.number!
    }
  }

  private func isRight(_ text: String, _ keyword: String, _ limit: JSONValue) -> Bool {
    let count = Double(text.unicodeScalars.count)
    switch keyword {
    case "minLength": return count >= limit.number!
    case "maxLength": return count <= limit.number!
    case "pattern": return text.range(of: limit.string!, options: .regularExpression) != nil
    case "contentEncoding":
      return limit.string == "base64" ? base64Decoded(text) != nil : base64URLDecoded(text) != nil
    default:
      switch limit.string {
      case "uuid": return UUID(uuidString: text) != nil
      case "date-time":
        return text.firstMatch(of: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/) != nil
      case "email": return text.contains("@")
      case "uri": return text.firstMatch(of: /^[a-z]+:\/\/\S+$/) != nil
      case "int64": return true
      default: return false
      }
    }
  }
}

extension JSONValue {
  fileprivate var number: Double? {
    if case .number(let number) = self { Double(number.text) } else { nil }
  }

  /// The value as JSON text.
  fileprivate var text: String {
    var writer = JSONWriter()
    writer.value(self)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
