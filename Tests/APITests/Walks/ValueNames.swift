import Cryptography
import Support

/// Kinds of values: those that a name takes, those in answers, and values that the actor invents.
enum ValueNames {
  /// The kinds that a name of a request takes; the name itself if the table lacks it.
  static func kinds(of name: String) -> [String] { aliases[name] ?? [name] }

  /// The kind of a member of an answer.
  static func kind(ofAnswered name: String) -> String { answered[name] ?? name }

  private static let answered = [
    "device_id": "deviceId", "username": "email", "paymentId": "id", "requestId": "id",
    "enrollmentId": "id", "biometricId": "id", "challengeId": "challenge_id", "user_ids": "user_id",
    "ticket": "token", "accountId": "id",
  ]

  private static let aliases: [String: [String]] = [
    "cardId": ["id"], "paymentId": ["id"], "requestId": ["id"], "after": ["id"],
    "pairing_token": ["pairing_token", "token"], "password": ["code"], "pushToken": ["push token"],
    "push_token": ["push token"], "device_token": ["push token"], "X-Username": ["email"],
    "X-Device-Credential": ["deviceCredential"], "credential": ["challenge"],
    "signature": ["challenge"],
  ]

  /// Names of values that grant access; each name is its own kind.
  static let secrets: Set<String> = [
    "accessToken", "refreshToken", "access_token", "refresh_token", "deviceCredential", "api_key",
    "pairing_token", "challenge", "merchant key",
  ]

  /// Short-lived or single-use kinds, which are used at once.
  static let fleeting: Set<String> = ["challenge", "code", "token", "state", "deviceCredential"]

  static let thiefPushToken = String(repeating: "e", count: 64)
  static let thiefName = "Eve's own"

  /// Values that an actor can send without any knowledge.
  static func madeUp(_ name: String) -> [ValueSource] {
    if name == "signature" || name == "credential" || name.lowercased().contains("access") {
      return []
    }
    return constants[name] ?? [.text("x")]
  }

  private static func texts(_ texts: String...) -> [ValueSource] { texts.map { .text($0) } }
  private static func json(_ texts: String...) -> [ValueSource] { texts.map { .json($0) } }

  static let constants: [String: [ValueSource]] = [
    "deviceId": texts("phone of eve 2"),
    "deviceName": texts(thiefName), "name": texts(thiefName),
    "platform": texts("ios", "ios", "android"), "tokenType": texts("apns", "fcm"),
    "token_type": texts("apns", "fcm"), "language": texts("de"),
    "subscription": json(
      """
      {"endpoint":"https://updates.push.services.mozilla.com/wpush/v2/eve","keys":{"p256dh":\
      "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs",\
      "auth":"AAAAAAAAAAAAAAAAAAAAAA"}}
      """),
    "pushToken": texts(thiefPushToken), "push_token": texts(thiefPushToken),
    "device_token": texts(thiefPushToken), "token": texts(thiefPushToken),
    "email": texts("eve2@example.net"), "X-Username": [],
    "method": texts("email", "passkey"), "code": texts("000000"),
    "password": texts("000000", "secret"),
    "challenge": texts("AAAA"), "publicKey": texts(PhoneKey.two.publicKey),
    "biometricType": texts("face"), "refreshToken": texts("x"), "answer": texts("yes", "no"),
    "revokeAll": json("true", "false"), "authenticators": json("true", "false"),
    "?revokeAll": texts("true"), "?authenticators": texts("true", "false"),
    "kind": texts(
      "devices", "sessions", "passkeys", "browsers", "banks", "payments", "pendingAddresses"),
    "done": texts("name"), "mobile": texts("true"), "size": texts("64"),
    "push_enabled": json("true", "false"), "preferred_models": json(#"["gpt-4o"]"#),
    "archive_cache_quota_mb": json("512"), "if_version": json("0", "1"),
    "bundle_id": texts("app.hamrah.ios"), "attestation_object": texts("AAAA"),
    "key_id": texts("AAAA"),
    "challenge_id": texts("x"),
    "endpoint": texts("https://updates.push.services.mozilla.com/wpush/v2/eve"),
    "keys": json(
      """
      {"p256dh":"BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs",\
      "auth":"AAAAAAAAAAAAAAAAAAAAAA"}
      """),
    "title": texts("Hello"), "body": texts("There"), "badge": json("1"), "sound": texts("default"),
    "data": json("{}"), "bsimId": texts("bank"), "state": texts("x"),
    "error": texts("access_denied"),
    "amount": json("1.5"), "currency": texts("CAD"), "orderId": texts("order of eve"),
    "revoke": texts("all"), "user_id": texts("42"), "master_key": texts("wrong"),
    "description": texts("phone of eve"), "quiet_hours": json("null"), "time_zone": texts("UTC"),
    "kinds": json(#"["turn"]"#), "live_games": json("true"), "muted_games": json("[1]"),
    "pairing_token": texts("cdev_p_x"), "refresh_token": texts("cdev_r_x"), "id": texts("x"),
    "cardId": [], "paymentId": [], "requestId": [], "after": texts("pay_x"),
    "returnUrl": texts("https://shop.example/done"),
    "items": json(#"[{"name":"Tea","quantity":1,"unitPrice":1.5}]"#),
    "reason": texts("broken"),
  ]
}
