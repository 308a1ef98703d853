extension Family {
  /// Routes outside the families of apps. All unknown paths belong to this family.
  static let site = Family(
    "site", paths: [], errors: .message,
    routes: [Route("GET", "/", getStartPage), Route("GET", "/health", getHealth)])
}
