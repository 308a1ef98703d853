extension Family {
  /// Notifications for players of online-go.com when it is their turn.
  static let turns = Family(
    "turns", "Notifications for players of online-go.com when it is their turn.",
    paths: [
      "/generate-api-key", "/register", "/check/", "/diagnostics/", "/users-by-token/", "/users/",
    ],
    errors: .message,
    routes: [
      Route("POST", "/generate-api-key", .generateAPIKey),
      Route("POST", "/register", .registerForTurns),
      Route("DELETE", "/register", .unregisterFromTurns),
      Route("GET", "/check/:user_id", .checkTurns),
      Route("GET", "/diagnostics/:user_id", .getDiagnostics),
      Route("GET", "/users-by-token/:device_token", .getUsersByToken),
      Route("POST", "/users/:user_id/api-key", .rotateAPIKey),
      Route("DELETE", "/users/:user_id/api-key", .revokeAPIKey),
      Route("GET", "/users/:user_id/settings", .getTurnSettings),
      Route("PUT", "/users/:user_id/settings", .changeTurnSettings),
      Route("DELETE", "/users/:user_id", .deleteTurnUser),
    ],
    secretPaths: ["/users-by-token/"])
}
