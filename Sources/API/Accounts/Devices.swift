import Base
import Cryptography
import HTTP
import Store

/// `POST /api/mobile/device/register`: keeps the device until somebody signs in on it, and hands
/// out its credential.
///
/// - Throws: ``Failure/validation(field:reason:value:)``; ``Failure/tooManyRequests(retryAfter:)``.
func registerDevice(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let deviceId: ClientDeviceID
    let deviceName: ShortText
    let platform: DevicePlatform
    let pushToken: PushToken?
  }
  let body = try request.decode(Body.self)
  let credential = seal(
    context.random(32), authenticating: body.deviceId.text, with: context.settings.credentialKeys)
  let expiresAt = context.now + .seconds(90 * 86_400)
  try context.database.register(
    DeviceRegistration(
      clientDeviceID: body.deviceId.text, name: body.deviceName.text, platform: body.platform,
      pushToken: body.pushToken, credentialHash: sha256(credential),
      credentialExpiresAt: expiresAt),
    from: context.origin, at: context.now)
  return .json { json in
    json.member("deviceCredential", credential)
    json.member("expiresAt", expiresAt.rfc3339)
  }
}

/// `GET /api/mobile/devices`: the account's devices.
func getDevices(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let devices = try context.database.devices(of: caller, at: context.now)
  return .json { json in
    json.member(
      "devices",
      array: { array in
        for device in devices {
          array.object {
            $0.members(of: device, isCurrent: device.clientDeviceID == caller.clientDeviceID)
          }
        }
      })
  }
}

/// `DELETE /api/mobile/devices/:deviceId`: ends the device's sessions and drops its push tokens.
///
/// - Throws: ``Failure/notFound(_:)`` for a device that is not the account's.
func revokeDevice(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard try context.database.revokeDevice(context.pathItem, by: caller, at: context.now) else {
    throw Failure.notFound("Device not found")
  }
  return .json { json in json.member("success", true) }
}

/// `POST /api/mobile/device/push-token`: the one push token of the signed-in device.
///
/// - Throws: ``Failure/validation(field:reason:value:)``; ``Failure/forbidden(_:)`` for another
///   device's id.
func setPushToken(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    enum Kind: String, Decodable { case apns, fcm }
    let deviceId: ClientDeviceID?
    let pushToken: PushToken
    let platform: DevicePlatform?
    let tokenType: Kind?
  }
  let caller = try context.authenticate(request)
  let body = try request.decode(Body.self)
  if let device = body.deviceId, device.text != caller.clientDeviceID {
    throw Failure.forbidden("The access token belongs to another device")
  }
  let platform = body.tokenType == .fcm ? .android : body.platform
  try context.database.setPushToken(
    body.pushToken, platform: platform, by: caller, at: context.now)
  return .json { json in
    json.member("success", true)
    json.member("registeredAt", context.now.rfc3339)
  }
}

/// `DELETE /api/mobile/device/push-token[/:deviceId]`: no more notifications to that device of the
/// account.
///
/// - Throws: ``Failure/notFound(_:)`` for a device that is not the account's.
func clearPushToken(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let device = context.pathItem.isEmpty ? caller.clientDeviceID : context.pathItem
  guard
    try context.database.clearPushTokens(ofDevice: device, by: caller, at: context.now)
  else { throw Failure.notFound("Device not found") }
  return .json { json in json.member("success", true) }
}

extension JSONWriter {
  fileprivate mutating func members(of device: Device, isCurrent: Bool) {
    member("deviceId", device.clientDeviceID)
    member("deviceName", device.name)
    member("platform", device.platform.rawValue)
    member("createdAt", device.createdAt.rfc3339)
    member("lastUsedAt", device.lastUsedAt.rfc3339)
    member("biometricEnabled", device.biometricEnabled)
    member("pushEnabled", device.pushEnabled)
    member("current", isCurrent)
  }
}
