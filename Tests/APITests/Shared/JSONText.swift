import Base
import Foundation

/// `members` as JSON text; nil leaves a member out.
func jsonText(_ members: [String: Any?]) -> String {
  let data = try! JSONSerialization.data(
    withJSONObject: members.compactMapValues { $0 }, options: .sortedKeys)
  return String(decoding: data, as: UTF8.self)
}

/// `members` without `name`, or with another value for it.
func jsonText(
  _ members: [String: any Sendable], but name: String, is value: (any Sendable)?
) -> String {
  var members: [String: any Sendable] = members
  members[name] = value
  return jsonText(members)
}

/// An instant in the format of the answers, made by Foundation.
func iso8601(_ instant: Timestamp) -> String {
  Date(timeIntervalSince1970: Double(instant.seconds)).formatted(.iso8601)
}
