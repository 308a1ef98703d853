@testable import API

/// The names that requests to each route have. A route that is not here walks with all names there are.
///
/// `?name` stands in the query, others in the body; `:name` of a path stands for itself.
enum RouteNames {
  static func names(of route: Route) -> [String] {
    table["\(route.method) \(route.path)"].map { $0.split(separator: " ").map(String.init) } ?? all
  }

  /// Every name that anybody makes a value for.
  static let all = Set(table.values.flatMap { $0.split(separator: " ").map(String.init) }).sorted()

  static func takesForm(_ path: String) -> Bool {
    path == "/account" || path.hasPrefix("/account/") || path == "/pair" || path.hasPrefix("/pair/")
      || path.hasPrefix("/api/enrollment/callback/")
  }

  private static let signingIn = "deviceId deviceName platform email"

  static let table: [String: String] = [
    "POST /api/mobile/device/register": "deviceId deviceName platform pushToken",
    "POST /api/mobile/device/push-token": "deviceId pushToken platform tokenType",
    "DELETE /api/mobile/device/push-token": "",
    "DELETE /api/mobile/device/push-token/:deviceId": "",
    "GET /api/mobile/devices": "",
    "DELETE /api/mobile/devices/:deviceId": "",
    "PUT /api/mobile/devices/:deviceId": "name",
    "GET /api/mobile/profile": "",
    "PUT /api/mobile/profile": "name email",
    "DELETE /api/mobile/account": "",
    "POST /api/mobile/auth/register": "\(signingIn) name",
    "POST /api/mobile/auth/login": "\(signingIn) method",
    "POST /api/mobile/auth/login/password": "\(signingIn) password",
    "POST /api/mobile/auth/login/verify": "\(signingIn) challenge code credential",
    "POST /api/mobile/auth/biometric/setup": "deviceId publicKey biometricType",
    "DELETE /api/mobile/auth/biometric": "deviceId ?deviceId",
    "POST /api/mobile/auth/biometric/challenge": "deviceId",
    "POST /api/mobile/auth/biometric/verify": "deviceId signature challenge",
    "POST /api/mobile/auth/passkey/register/options": "",
    "POST /api/mobile/auth/passkey/register/verify": "credential name",
    "GET /.well-known/apple-app-site-association": "",
    "GET /.well-known/assetlinks.json": "",
    "GET /account/confirm": "?token",
    "POST /account/confirm": "token answer",
    "GET /account/end": "?token",
    "POST /account/end": "token",
    "GET /account/address": "?token",
    "POST /account/address": "token",
    "GET /api/mobile/passkeys": "",
    "DELETE /api/mobile/passkeys/:id": "",
    "PUT /api/mobile/passkeys/:id": "name",
    "POST /api/mobile/auth/token/refresh": "refreshToken",
    "POST /api/mobile/auth/logout": "revokeAll authenticators ?revokeAll ?authenticators",
    "GET /account": "?done",
    "POST /account/code": "token email",
    "POST /account/sign-in": "token code",
    "POST /account/passkey": "token",
    "POST /account/passkey/sign-in": "token credential",
    "GET /account/passkey.js": "",
    "POST /account/name": "token name",
    "POST /account/email": "token email",
    "POST /account/remove": "token kind id",
    "GET /account/export": "",
    "GET /account/delete": "",
    "POST /account/delete": "token",
    "POST /account/sign-out": "token",
    "GET /api/v1/device-prefs": "",
    "POST /api/v1/device-prefs":
      "push_enabled push_token preferred_models archive_cache_quota_mb if_version",
    "GET /api/v1/models": "",
    "POST /api/v1/push/register": "platform token",
    "POST /api/app-attestation/challenge": "platform bundle_id",
    "POST /api/app-attestation/verify": "attestation_object key_id challenge_id bundle_id",
    "POST /api/app-attestation/verify-key": "key_id",
    "POST /api/push/register": "token platform",
    "OPTIONS /api/push/register": "",
    "POST /api/push/unregister": "token",
    "OPTIONS /api/push/unregister": "",
    "GET /api/push/vapid-key": "",
    "POST /api/push/subscribe": "endpoint keys",
    "OPTIONS /api/push/subscribe": "",
    "POST /api/push/unsubscribe": "endpoint",
    "OPTIONS /api/push/unsubscribe": "",
    "POST /api/push/test": "token title body badge sound data",
    "OPTIONS /api/push/test": "",
    "GET /api/mobile/wallet/summary": "",
    "GET /api/mobile/wallet/cards": "",
    "POST /api/mobile/wallet/cards/:id/default": "",
    "DELETE /api/mobile/wallet/cards/:id": "",
    "GET /api/enrollment/start/:bsimId": "?mobile",
    "POST /api/mobile/enrollment/start/:bsimId": "",
    "GET /api/enrollment/callback/:bsimId": "?code ?state ?error",
    "POST /api/enrollment/callback/:bsimId": "code state error",
    "GET /api/mobile/enrollment/banks": "",
    "GET /api/mobile/enrollment/list": "",
    "DELETE /api/mobile/enrollment/:id": "",
    "POST /api/merchant/payment/initiate": "cardId amount currency orderId",
    "POST /api/merchant/payment/confirm": "paymentId deviceId signature credential",
    "GET /pair": "",
    "POST /pair": "",
    "GET /pair/phones": "",
    "POST /pair/phones": "id",
    "POST /pair/phones/name": "id name",
    "GET /api/pair/info": "",
    "GET /api/pair/qr": "?size",
    "POST /api/pair/refresh": "revoke",
    "POST /api/pair/code": "code",
    "POST /api/auth/exchange": "pairing_token",
    "POST /api/auth/refresh": "refresh_token",
    "POST /api/auth/revoke": "refresh_token",
    "POST /api/auth/ticket": "",
    "GET /api/status": "?token",
    "GET /_auth": "?token",
    "POST /generate-api-key": "user_id master_key description",
    "POST /register":
      "user_id device_token platform token_type subscription language quiet_hours time_zone",
    "DELETE /register": "user_id device_token platform token_type subscription",
    "GET /check/:user_id": "",
    "GET /diagnostics/:user_id": "",
    "GET /users-by-token/:device_token": "",
    "POST /users/:user_id/api-key": "",
    "DELETE /users/:user_id/api-key": "",
    "GET /users/:user_id/settings": "",
    "PUT /users/:user_id/settings": "quiet_hours time_zone kinds live_games muted_games",
    "DELETE /users/:user_id": "",
    "GET /health": "",
  ]
}
