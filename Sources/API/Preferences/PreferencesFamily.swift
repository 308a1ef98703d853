extension Family {
  /// Preferences of devices, the catalog of models, and the push token that the apps register.
  ///
  /// - Parameter proof: Checks that the app of a request is genuine.
  static func preferences(checking proof: AppProof) -> Family {
    Family(
      "preferences", paths: ["/api/v1/"], errors: .preferences,
      routes: [
        Route("GET", "/api/v1/device-prefs") { request, context in
          try getPreferences(request, in: context, noting: proof)
        },
        Route("POST", "/api/v1/device-prefs") { request, context in
          try postPreferences(request, in: context, checking: proof)
        },
        Route("GET", "/api/v1/models", getModels),
        Route("POST", "/api/v1/push/register") { request, context in
          try registerPushToken(request, in: context, checking: proof)
        },
      ])
  }
}
