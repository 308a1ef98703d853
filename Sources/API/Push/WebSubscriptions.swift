import Base
import HTTP
import Store

/// `GET /api/push/vapid-key`: returns the `applicationServerKey` with which a page subscribes.
///
/// - Throws: ``Failure/webPushNotConfigured``.
func getVAPIDKey(_ request: Request, in context: borrowing Context) throws -> Response {
  guard let key = context.settings.webPush?.publicKey else { throw Failure.webPushNotConfigured }
  return .json { json in json.member("publicKey", key) }
}

/// `POST /api/push/subscribe`: adds a browser's subscription to the push tokens of the signed-in device.
///
/// - Throws: ``Failure/badRequest(_:)``; ``Failure/webPushNotConfigured``.
func addWebSubscription(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticateByName(request)
  let settings = context.settings
  let subscription = try context.pushBody(of: request, from: caller) { members in
    guard let webPush = settings.webPush else { throw Failure.webPushNotConfigured }
    return try webPush.subscription(try members.endpoint(), keys: try members.subscriptionKeys())
  }
  try context.records.webSubscriptions.register(
    subscription.token, sealed: subscription.sealed(for: context.settings.companionKeys),
    by: caller)
  return .json { json in
    json.member("success", true)
    json.member("token", subscription.token.text)
    json.member("platform", PushPlatform.web.rawValue)
  }
}

/// `POST /api/push/unsubscribe`: removes the account's subscription with this `endpoint`.
///
/// - Throws: ``Failure/badRequest(_:)``.
func removeWebSubscription(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticateByName(request)
  let endpoint = try context.pushBody(of: request, from: caller) { try $0.endpoint() }
  let removed = try context.records.pushTokens.unregister(
    WebSubscription.token(ofEndpoint: endpoint), by: caller)
  return .json { json in
    json.member("success", true)
    json.member("removed", Int64(removed.tokens))
  }
}

extension PushMembers {
  fileprivate func endpoint() throws -> String {
    let complaint = "Endpoint is required"
    guard let endpoint = try text(.endpoint, or: complaint), !endpoint.isEmpty else {
      throw Failure.badRequest(complaint)
    }
    return endpoint
  }
}

extension Endpoint {
  static var getVAPIDKey: Endpoint {
    Endpoint(API.getVAPIDKey) {
      Operation.push(
        "Returns the `applicationServerKey` with which a page subscribes.", .open,
        answer: .json(["publicKey": .base64URL]), errors: [.webPushNotConfigured])
    }
  }

  static var addWebSubscription: Endpoint {
    Endpoint(API.addWebSubscription) {
      Operation.push(
        "Adds a browser's subscription to the push tokens of the signed-in device.",
        body: ["endpoint": .uri, "keys": ["p256dh": .base64URL, "auth": .base64URL]],
        answer: .json(["success": .boolean, "token": .string, "platform": .string]),
        errors: [.webPushNotConfigured, .malformedSubscriptionKeys], limits: [.pushTokens])
    }
  }

  static var removeWebSubscription: Endpoint {
    Endpoint(API.removeWebSubscription) {
      Operation.push(
        "Removes the account's subscription with this `endpoint`.", body: ["endpoint": .uri],
        answer: .json(["success": .boolean, "removed": .integer]))
    }
  }
}
