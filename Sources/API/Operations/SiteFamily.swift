extension Family {
  /// Routes outside the families of apps. All unknown paths belong to this family.
  static let site = Family(
    "site", "The site itself.", paths: [], errors: .message,
    routes: [
      Route("GET", "/", .getStartPage),
      Route("GET", "/health", .getHealth),
      Route("GET", "/openapi.json", .getAPIDescription),
      Route("GET", "/docs", .getAPIPage),
    ])
}
