import Base
import Foundation
import HTTP

/// The values that an answer contains, by kind, in their order.
func harvest(_ response: Response) -> [(kind: String, text: String)] {
  var found: [(kind: String, text: String)] = []
  for field in response.fields {
    switch field.name {
    case "Set-Cookie": found.append(("Cookie", String(field.value.prefix { $0 != ";" })))
    case "Location": found += queryItems(of: field.value)
    default: break
    }
  }
  if let value = try? JSONSerialization.jsonObject(with: Data(response.body)) {
    collect(value, named: "", into: &found)
  } else {
    let text = String(decoding: response.body, as: UTF8.self)
    for match in text.matches(of: /name="([a-z]+)" value="([^"]+)"/) {
      found.append((String(match.1), String(match.2)))
    }
    if let challenge = text.firstMatch(of: /data-challenge="([^"]+)"/) {
      found.append(("challenge", String(challenge.1)))
    }
  }
  return found
}

private func collect(
  _ value: Any, named name: String, into found: inout [(kind: String, text: String)]
) {
  switch value {
  case let members as [String: Any]:
    // The user for whom an authenticator shall make a passkey.
    if name == "user", members["displayName"] != nil, let handle = members["id"] as? String {
      found.append(("user handle", handle))
    }
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      collect(value, named: name, into: &found)
    }
  case let elements as [Any]:
    for element in elements { collect(element, named: name, into: &found) }
  case let text as String where !text.isEmpty && !dull.contains(name):
    found.append((ValueNames.kind(ofAnswered: name), text))
    if name == "authUrl" { found += queryItems(of: text) }
  default: break
  }
}

/// Members that no request uses.
private let dull: Set<String> = [
  "message", "error", "method", "token_type", "status", "expiresAt", "expires_at", "createdAt",
  "reason",
]

private func queryItems(of url: String) -> [(kind: String, text: String)] {
  guard let start = url.firstIndex(of: "?") else { return [] }
  return url[url.index(after: start)...].split(separator: "&").compactMap { pair in
    let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
    guard parts.count == 2, let text = parts[1].removingPercentEncoding else { return nil }
    return (parts[0], text)
  }
}
