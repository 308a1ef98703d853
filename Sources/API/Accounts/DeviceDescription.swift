import Base
import HTTP
import Store

/// The id that an app made for its device: 1 to 128 characters.
struct ClientDeviceID: SelfDescribing {
  static let schema = Schema.text(atMost: maximum).example("my-device")
  private static let maximum = 128

  let text: String

  init(from decoder: any Decoder) throws {
    text = try decoder.text(atMost: Self.maximum)
  }
}

extension DevicePlatform: SelfDescribing {
  package init(from decoder: any Decoder) throws {
    let word = try decoder.text(atMost: 20).lowercased()
    guard let platform = DevicePlatform(rawValue: word) else {
      let known = DevicePlatform.allCases.map(\.rawValue).joined(separator: ", ")
      throw Failure.validation(
        field: decoder.field, reason: "unknown_platform", value: word,
        sentence: { $0.unknownPlatform(known) })
    }
    self = platform
  }
}

extension PushToken: SelfDescribing {
  static let schema = Schema.string.with("minLength", .number(lengths.lowerBound))
    .with("maxLength", .number(lengths.upperBound)).with("pattern", "^[A-Za-z0-9:_.-]+$")
    .example("0123456789abcdef0123456789abcdef")

  package init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let token = PushToken(text), !token.isOfBrowser else {
      throw Failure.validation(field: decoder.field, reason: "not_a_push_token")
    }
    self = token
  }
}

/// The push token of a device that registers; nil if it is malformed. Simulators and some apps send other
/// text, and a registration should not fail because of it.
struct OfferedPushToken: SelfDescribing {
  static let schema = Schema.any.example("0123456789abcdef0123456789abcdef")

  let token: PushToken?

  init(from decoder: any Decoder) throws {
    token = try? PushToken(from: decoder)  // ignores a malformed token
  }
}

/// The name of a device, without characters that cannot be shown: people choose it in the phone's settings, and it refuses no
/// phone. Some phones send an empty name, which counts as absent.
struct DeviceName: SelfDescribing {
  static let schema = Schema.string.with("maxLength", .number(ShortText.maximum))
    .example("A phone")

  let text: String?

  init(from decoder: any Decoder) throws {
    let shown = try decoder.singleValueContainer().decode(String.self).withoutInvisible
    text =
      shown.isEmpty
      ? nil : try checkedText(shown, of: decoder.field, atMost: ShortText.maximum)
  }
}

/// The members about the device in the body of a sign-in.
struct SigningDeviceBody: Decodable {
  let deviceId: ClientDeviceID
  fileprivate let deviceName: DeviceName?
  let platform: DevicePlatform?
}

extension Request {
  /// The device that signs in, as the body describes it.
  ///
  /// - Throws: ``Failure/validation``.
  func signingDevice() throws -> SigningDevice {
    let body = try decode(SigningDeviceBody.self)
    return try SigningDevice(
      clientDeviceID: body.deviceId.text, name: body.deviceName?.text, platform: body.platform,
      credentialHash: deviceCredentialHash,
      language: language)
  }
}

extension Failure {
  /// The device is not registered. Apps register their device when they start.
  static let unknownDevice = Failure.validation(
    field: "deviceId", reason: "not_registered", sentence: \.unknownDevice)

  static let noBiometricKey = Failure.validation(
    field: "deviceId", reason: "no_biometric_key", sentence: \.noBiometricKey)
}
