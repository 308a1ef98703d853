import Foundation
import HTTP
import Support

/// A response with its JSON body.
struct Answer {
  let response: Response

  init(_ response: Response) {
    self.response = response
    Evidence.keep(answer: response.body)
  }

  var status: Int { response.status }
  var text: String { String(decoding: response.body, as: UTF8.self) }

  func field(_ name: String) -> String? {
    response.fields.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// The value at a path of member names and array indices, or nil.
  subscript(path: any Sendable...) -> Any? {
    var value = try? JSONSerialization.jsonObject(
      with: Data(response.body), options: .fragmentsAllowed)
    for step in path {
      switch step {
      case let name as String: value = (value as? [String: Any])?[name]
      case let index as Int:
        let array = value as? [Any] ?? []
        value = array.indices.contains(index) ? array[index] : nil
      default: return nil
      }
    }
    return value is NSNull ? nil : value
  }

  func string(_ path: any Sendable...) -> String? {
    var value: Any? = try? JSONSerialization.jsonObject(with: Data(response.body))
    for step in path { value = (value as? [String: Any])?[step as? String ?? ""] }
    return value as? String
  }

  var retryAfter: Int? { field("Retry-After").flatMap { Int($0) } }

  /// An error's text about the wrong member: `field: reason`, and ` = value` if there is a value.
  var complaint: String? {
    let details = (self["error", "details"] ?? self["details"]) as? [String: Any]
    guard let field = details?["field"] as? String, let reason = details?["reason"] as? String
    else { return nil }
    return "\(field): \(reason)" + ((details?["value"] as? String).map { " = \($0)" } ?? "")
  }

  /// Whether this is exactly an error body of ``ErrorShape/coded``.
  func isError(_ status: Int, _ code: String, _ message: String? = nil) -> Bool {
    let body = (try? JSONSerialization.jsonObject(with: Data(response.body))) as? [String: Any]
    let members = Set((body ?? [:]).keys).subtracting(complaint == nil ? [] : ["details"])
    return self.status == status && members == ["error", "message"] && string("error") == code
      && string("message")?.isEmpty == false
      && (message == nil || string("message") == message)
      && field("Content-Type") == "application/json" && field("Cache-Control") == "no-store"
  }
}
