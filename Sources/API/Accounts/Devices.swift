import Base
import Cryptography
import HTTP
import Store

/// `POST /api/mobile/device/register`: stores the device until a person signs in on it, and issues its
/// credential. A signed-in device shows its bearer or credential to renew its registration. Its credential
/// before stays good until the new one is used.
///
/// - Throws: ``Failure/validation``; ``Failure/tooManyRequests(retryAfter:)``;
///   ``Failure/invalidDeviceCredential``.
func registerDevice(_ request: Request, in context: borrowing Context) throws -> Response {
  let body = try request.decode(RegistrationBody.self)
  let credential =
    CredentialIssuer.prefix
    + seal(
      context.random(32), authenticating: body.deviceId.text,
      with: context.settings.credentialKeys)
  let expiresAt = context.now + CredentialIssuer.lifetime
  let registered = try context.records.devices.register(
    DeviceRegistration(
      clientDeviceID: body.deviceId.text, name: body.deviceName.text ?? body.platform.rawValue,
      platform: body.platform,
      pushToken: body.pushToken?.token, credentialHash: sha256(credential),
      credentialExpiresAt: expiresAt),
    issuer: CredentialIssuer(keys: context.settings.credentialKeys),
    showing: request.deviceCredentialHash, by: context.caller(of: request))
  switch registered {
  case .new: return answer(credential, until: expiresAt)
  case .ofDevice(let own, let expiresAt): return answer(own, until: expiresAt)
  case .shown(let expiresAt):
    return answer(request.field("X-Device-Credential") ?? "", until: expiresAt)
  }
}

private func answer(_ credential: String, until expiresAt: Timestamp) -> Response {
  .json { json in
    json.member("deviceCredential", credential)
    json.member("expiresAt", expiresAt.rfc3339)
  }
}

private struct RegistrationBody: Decodable {
  let deviceId: ClientDeviceID
  let deviceName: DeviceName
  let platform: DevicePlatform
  let pushToken: OfferedPushToken?
}

/// `GET /api/mobile/devices`: the account's devices.
func getDevices(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let devices = try context.records.devices.list(for: caller)
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

/// `DELETE /api/mobile/devices/:deviceId`: ends the device's sessions and removes its push tokens.
///
/// - Throws: ``Failure/notFound(_:)`` for a device that is not the account's.
func revokeDevice(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard try context.records.devices.revoke(context.pathItem, by: caller) else {
    throw Failure.notFound(\.deviceGone)
  }
  return .json { json in json.member("success", true) }
}

/// `PUT /api/mobile/devices/:deviceId` {name}: renames a device.
///
/// - Throws: ``Failure/validation``; ``Failure/notFound(_:)`` for a device that
///   is not the account's.
func renameDevice(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let name = try request.decode(NameBody.self).name.text
  guard try context.records.devices.rename(context.pathItem, to: name, by: caller) else {
    throw Failure.notFound(\.deviceGone)
  }
  return .json { json in json.member("success", true) }
}

/// A body with a new name.
struct NameBody: Decodable {
  let name: ShortText
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

extension Endpoint {
  static var registerDevice: Endpoint {
    Endpoint(API.registerDevice) {
      Operation(
        """
        Stores the device and issues its credential. Send it again to renew the registration: a signed-in device shows its \
        access token or its credential. The credential before stays good until the new one is used, so send it again if the \
        answer was lost. A device that is not signed in and shows its credential keeps it.
        """, .registeringDevice, body: .json(RegistrationBody.self),
        answers: .json(["deviceCredential": .string, "expiresAt": .time]),
        limits: [.deviceRegistrations, .deviceRenewals])
    }
  }

  static var getDevices: Endpoint {
    Endpoint(API.getDevices) {
      Operation(
        "Lists the devices of the account.", .bearer,
        answers: .json(["devices": .array(of: .device)]))
    }
  }

  static var revokeDevice: Endpoint {
    Endpoint(API.revokeDevice) {
      Operation(
        "Signs a device out and removes its push tokens.", .bearer, item: .device,
        answers: .success, errors: [.notFound(\.deviceGone)])
    }
  }

  static var renameDevice: Endpoint {
    Endpoint(API.renameDevice) {
      Operation(
        "Renames a device.", .bearer, item: .device, body: .json(NameBody.self),
        answers: .success, errors: [.notFound(\.deviceGone)])
    }
  }
}

extension Operation.Item {
  static let device = Self("The id that the app gave to a device of the account.")
}

extension Access {
  fileprivate static let registeringDevice = Access(
    alternatives: [[], [.deviceCredential], [.accessToken]], errors: [.invalidDeviceCredential])
}

extension Schema {
  fileprivate static let device: Schema =
    ([
      "deviceId": .string, "deviceName": .string, "platform": DevicePlatform.schema,
      "createdAt": .time, "lastUsedAt": .time, "biometricEnabled": .boolean,
      "pushEnabled": .boolean,
      "current": .boolean,
    ] as Schema).named("Device")
}
