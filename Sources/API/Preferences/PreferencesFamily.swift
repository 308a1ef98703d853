extension Family {
  /// Preferences of devices, the catalog of models, and the push token that the apps register.
  ///
  /// - Parameter proof: Checks that the app of a request is genuine.
  static func preferences(checking proof: AppProof) -> Family {
    Family(
      "preferences",
      "Preferences of devices, the catalog of models, and the push token that the apps register.",
      paths: ["/api/v1/"], errors: .preferences,
      routes: [
        Route("GET", "/api/v1/device-prefs", .getPreferences(noting: proof)),
        Route("POST", "/api/v1/device-prefs", .postPreferences(checking: proof)),
        Route("GET", "/api/v1/models", .getModels),
        Route("POST", "/api/v1/push/register", .registerPushToken(checking: proof)),
      ])
  }
}
