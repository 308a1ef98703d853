extension Family {
  /// What belongs to no family of apps. Unknown paths are its own.
  static let site = Family(
    "site", paths: [], errors: .message,
    routes: [Route("GET", "/", getStartPage), Route("GET", "/health", getHealth)])
}
