import Base
import HTTP

extension Family {
  /// Accounts, devices and sessions. The other families for phones depend on this family.
  static let accounts = Family(
    "accounts", "Accounts, devices and sessions. The other families for phones depend on this one.",
    paths: ["/api/mobile/", "/account", "/account/"], errors: .coded,
    routes: [
      Route("POST", "/api/mobile/device/register", .registerDevice),
      Route("POST", "/api/mobile/device/push-token", .setPushToken),
      Route("DELETE", "/api/mobile/device/push-token", .clearPushToken),
      Route("DELETE", "/api/mobile/device/push-token/:deviceId", .clearPushToken),
      Route("GET", "/api/mobile/devices", .getDevices),
      Route("DELETE", "/api/mobile/devices/:deviceId", .revokeDevice),
      Route("PUT", "/api/mobile/devices/:deviceId", .renameDevice),
      Route("GET", "/api/mobile/profile", .getProfile),
      Route("PUT", "/api/mobile/profile", .changeProfile),
      Route("DELETE", "/api/mobile/account", .deleteAccount),
      Route("POST", "/api/mobile/auth/register", .createAccount),
      Route("POST", "/api/mobile/auth/login", .startSignIn),
      Route("POST", "/api/mobile/auth/login/password", .signInWithPassword),
      Route("POST", "/api/mobile/auth/login/verify", .signIn),
      Route("POST", "/api/mobile/auth/biometric/setup", .setUpBiometrics),
      Route("DELETE", "/api/mobile/auth/biometric", .removeBiometrics),
      Route("POST", "/api/mobile/auth/biometric/challenge", .requestChallenge),
      Route("POST", "/api/mobile/auth/biometric/verify", .signInWithBiometrics),
      Route("POST", "/api/mobile/auth/passkey/register/options", .startPasskeyRegistration),
      Route("POST", "/api/mobile/auth/passkey/register/verify", .registerPasskey),
      Route("GET", "/.well-known/apple-app-site-association", .getAssociatedApps),
      Route("GET", "/.well-known/assetlinks.json", .getAssetLinks),
      Route("GET", "/account/confirm", .askForConfirmation),
      Route("POST", "/account/confirm", .confirmAccount),
      Route("GET", "/account/end", .askWhetherToEnd),
      Route("POST", "/account/end", .endByLink),
      Route("GET", "/account/address", .askForAddressChange),
      Route("POST", "/account/address", .changeAddress),
      Route("GET", "/api/mobile/passkeys", .getPasskeys),
      Route("DELETE", "/api/mobile/passkeys/:id", .removePasskey),
      Route("PUT", "/api/mobile/passkeys/:id", .renamePasskey),
      Route("POST", "/api/mobile/auth/token/refresh", .refreshTokens),
      Route("POST", "/api/mobile/auth/logout", .logOut),
      Route("GET", "/account", changes: true, .showAccount),
      Route("POST", "/account/code", .askForCode),
      Route("POST", "/account/sign-in", .signInWithCode),
      Route("POST", "/account/passkey", .askForPasskey),
      Route("POST", "/account/passkey/sign-in", .signInWithPasskey),
      Route("GET", "/account/passkey.js", .getPasskeyScript),
      Route("POST", "/account/name", .changeName),
      Route("POST", "/account/email", .askForAddress),
      Route("GET", "/account/remove", changes: true, .askForRemoval),
      Route("POST", "/account/remove", .removeItem),
      Route("GET", "/account/export", .download),
      Route("GET", "/account/delete", changes: true, .askForDeletion),
      Route("POST", "/account/delete", .confirmDeletion),
      Route("POST", "/account/sign-out", .signOut),
    ],
    sections: [.devices, .browsers, .passkeys],
    errorPage: { failure, request in
      let isPage = request.path == "/account" || request.path.hasPrefix("/account/")
      guard isPage else { return nil }
      let language = request.messageLanguage
      let link = Page.link("/account", PageTexts(in: language).toAccount)
      return .failurePage(failure, link, in: language)
    })
}

extension ErrorShape {
  /// `{"error": code, "message": message, "details": {…}}`. The apps show the message as it is, so it is in
  /// the language of the request. `details` names the invalid member of the body, if there is one.
  static let coded = ErrorShape(
    write: { failure, code, json in
      json.member("error", code)
      json.member("message", failure.message)
      json.details(of: failure)
      failure.diagnostics?(&json)
    },
    language: \.messageLanguage)
}
