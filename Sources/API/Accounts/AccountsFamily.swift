extension Family {
  /// Accounts, devices and sessions, on which the other families of phones depend.
  static let accounts = Family(
    "accounts", paths: ["/api/mobile/", "/account/"], errors: .coded,
    routes: [
      Route("POST", "/api/mobile/device/register", registerDevice),
      Route("POST", "/api/mobile/device/push-token", setPushToken),
      Route("DELETE", "/api/mobile/device/push-token", clearPushToken),
      Route("DELETE", "/api/mobile/device/push-token/:deviceId", clearPushToken),
      Route("GET", "/api/mobile/devices", getDevices),
      Route("DELETE", "/api/mobile/devices/:deviceId", revokeDevice),
      Route("POST", "/api/mobile/auth/register", createAccount),
      Route("POST", "/api/mobile/auth/login", startSignIn),
      Route("POST", "/api/mobile/auth/login/password", signInWithPassword),
      Route("POST", "/api/mobile/auth/login/verify", signIn),
      Route("POST", "/api/mobile/auth/biometric/setup", setUpBiometrics),
      Route("POST", "/api/mobile/auth/biometric/challenge", requestChallenge),
      Route("POST", "/api/mobile/auth/biometric/verify", signInWithBiometrics),
      Route("POST", "/api/mobile/auth/passkey/register/options", startPasskeyRegistration),
      Route("POST", "/api/mobile/auth/passkey/register/verify", registerPasskey),
      Route("GET", "/.well-known/apple-app-site-association", getAssociatedApps),
      Route("GET", "/.well-known/assetlinks.json", getAssetLinks),
      Route("GET", "/account/confirm", askForConfirmation),
      Route("POST", "/account/confirm", confirmAccount),
      Route("GET", "/api/mobile/passkeys", getPasskeys),
      Route("DELETE", "/api/mobile/passkeys/:id", removePasskey),
      Route("POST", "/api/mobile/auth/token/refresh", refreshTokens),
      Route("POST", "/api/mobile/auth/logout", logOut),
    ])
}

extension ErrorShape {
  /// `{"error": code, "message": message, "details": {…}}`. The apps show the message as it is.
  /// `details` names the member of the body at fault, if one is.
  static let coded = ErrorShape { failure, code, json in
    json.member("error", code)
    json.member("message", failure.message)
    json.details(of: failure)
    failure.diagnostics?(&json)
  }
}
