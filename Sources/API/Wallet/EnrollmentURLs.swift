import Base

/// The URL at which the app gets the result of an enrollment.
let appCallback = "mwsim://enrollment/callback"

extension Context {
  /// The URL to which the bank in the path sends people back.
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
