import Base
import HTTP
import Store

/// `POST /api/mobile/device/push-token`: sets the only push token of the signed-in device.
///
/// - Throws: ``Failure/validation``; ``Failure/forbidden(_:)`` for another
///   device's id; ``Failure/tooManyRequests(retryAfter:)``.
func setPushToken(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let body = try request.decode(TokenBody.self)
  if let device = body.deviceId, device.text != caller.clientDeviceID {
    throw Failure.forbidden(\.otherDevice)
  }
  let platform = body.tokenType == .fcm ? .android : body.platform.map(PushPlatform.init)
  try context.records.pushTokens.set(body.pushToken, platform: platform, by: caller)
  return .json { json in
    json.member("success", true)
    json.member("registeredAt", context.now.rfc3339)
  }
}

private struct TokenBody: Decodable {
  enum Kind: String, SelfDescribing, CaseIterable { case apns, fcm }
  let deviceId: ClientDeviceID?
  let pushToken: PushToken
  let platform: DevicePlatform?
  let tokenType: Kind?
}

/// `DELETE /api/mobile/device/push-token[/:deviceId]`: stops notifications to a device of the account.
///
/// - Throws: ``Failure/notFound(_:)`` for a device that is not the account's.
func clearPushToken(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let device = context.pathItem.isEmpty ? caller.clientDeviceID : context.pathItem
  guard try context.records.pushTokens.clear(ofDevice: device, by: caller) else {
    throw Failure.notFound(\.deviceGone)
  }
  return .json { json in json.member("success", true) }
}

extension Endpoint {
  static var setPushToken: Endpoint {
    Endpoint(API.setPushToken) {
      Operation(
        "Sets the only push token of the signed-in device.", .bearer, body: .json(TokenBody.self),
        answers: .json(["success": .boolean, "registeredAt": .time]),
        errors: [.forbidden(\.otherDevice)], limits: [.pushTokens])
    }
  }

  static var clearPushToken: Endpoint {
    Endpoint(API.clearPushToken) {
      Operation(
        "Stops notifications to the signed-in device, or to the device in the path.", .bearer,
        item: .device, answers: .success, errors: [.notFound(\.deviceGone)])
    }
  }
}
