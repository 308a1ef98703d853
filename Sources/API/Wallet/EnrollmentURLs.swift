import Base

/// Where the app waits for the result of an enrollment.
let appCallback = "mwsim://enrollment/callback"

extension Context {
  /// Where the bank of the path sends people back.
  var redirectURI: String { "\(settings.publicURL)/api/enrollment/callback/\(pathItem)" }
}

extension String {
  /// This URL with more members in its query.
  func adding(_ members: [(String, String)]) -> String {
    let query = members.map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
    guard contains("?") else { return "\(self)?\(query)" }
    return hasSuffix("?") || hasSuffix("&") ? self + query : "\(self)&\(query)"
  }
}
