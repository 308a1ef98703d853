import Base
import HTTP
import Store

/// `POST /register`: registers a phone or a browser for the turns of the key's user.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``;
///   ``Failure/webPushNotConfigured``; ``Failure/tooManyRequests(retryAfter:)``.
func registerForTurns(_ request: Request, in context: borrowing Context) throws -> Response {
  let keyUser = try context.userOfAPIKey(request)
  let body = try request.decode(Registration.self, orSay: "Invalid JSON")
  guard let user = body.userID, !user.isEmpty, body.namesDevice else {
    throw Failure.badRequest("user_id and device_token are required")
  }
  var device = try body.device(in: context)
  device.language = body.language ?? request.language
  if let quietHours = try body.phoneQuietHours { device.quietHours = .set(quietHours) }
  let isAdded = try context.records.turnRegistrations.add(
    device, of: try user.owned(by: keyUser), by: try context.hashOfAPIKey(request))
  guard isAdded else { throw Failure.unauthorized("Invalid API key") }
  return .json { json in
    json.member("status", "registered")
    // A page knows only its subscription, so the answer tells the token.
    if device.channel == .webPush { json.member("device_token", device.token) }
  }
}

/// `DELETE /register`: removes a device from the turns of the key's user. Succeeds also if the device was not
/// registered.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
func unregisterFromTurns(_ request: Request, in context: borrowing Context) throws -> Response {
  let keyUser = try context.userOfAPIKey(request)
  let body = try request.decode(Registration.self, orSay: "Invalid JSON")
  guard body.namesDevice else { throw Failure.badRequest("device_token is required") }
  if let user = body.userID, !user.isEmpty { _ = try user.owned(by: keyUser) }
  try context.records.turnRegistrations.remove(try body.token, of: keyUser)
  return .json { json in json.member("status", "unregistered") }
}

/// `GET /users-by-token/:device_token`: lists the users for whose turns a device gets notifications. The list is
/// empty unless the key's user is one of them.
///
/// - Throws: ``Failure/unauthorized(_:)``.
func getUsersByToken(_ request: Request, in context: borrowing Context) throws -> Response {
  let keyUser = try context.userOfAPIKey(request)
  let given = context.pathItem
  // Apple's tokens have several spellings, other tokens only one.
  let token = DeviceToken(given)?.text ?? PushToken(given)?.text
  let registrations = context.records.turnRegistrations
  let users = try token.map { try registrations.users(ofDevice: $0, askedBy: keyUser) } ?? []
  return .json { json in
    json.member(
      "device_token", users.isEmpty ? DeviceToken.normalized(given) : token ?? "")
    json.member(
      "user_ids",
      array: { array in
        for user in users { array.string(String(user)) }
      })
  }
}

/// The body of `/register`. The contract has only `user_id` and `device_token`; without other members, the device is an
/// Apple device.
private struct Registration: Decodable {
  struct Subscription: Decodable {
    struct Keys: Decodable {
      let p256dh: String
      let auth: String
    }

    let endpoint: String
    let keys: Keys?
  }

  let userID: GivenUserID?
  private let deviceToken: String?
  private let platform: String?
  private let tokenType: String?
  private let subscription: Subscription?
  private let languageTag: String?
  private let quietHours: GivenQuietHours??
  private let timeZone: String?

  private enum CodingKeys: String, CodingKey {
    case userID = "user_id"
    case deviceToken = "device_token"
    case platform
    case tokenType = "token_type"
    case subscription
    case languageTag = "language"
    case quietHours = "quiet_hours"
    case timeZone = "time_zone"
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    userID = try members.decodeIfPresent(GivenUserID.self, forKey: .userID)
    deviceToken = try members.decodeIfPresent(String.self, forKey: .deviceToken)?.trimmed
    platform = try members.decodeIfPresent(String.self, forKey: .platform)?.lowercased()
    tokenType = try members.decodeIfPresent(String.self, forKey: .tokenType)?.lowercased()
    subscription = try members.decodeIfPresent(Subscription.self, forKey: .subscription)
    languageTag = try members.decodeIfPresent(String.self, forKey: .languageTag)
    quietHours =
      members.contains(.quietHours)
      ? .some(try members.decodeIfPresent(GivenQuietHours.self, forKey: .quietHours)) : nil
    timeZone = try members.decodeIfPresent(String.self, forKey: .timeZone)
  }

  var namesDevice: Bool { subscription != nil || deviceToken.map { !$0.isEmpty } ?? false }

  /// The phone's language; English if we do not support it, nil if the body names none. Android separates the parts of
  /// a language tag with `_`.
  var language: Language? {
    languageTag.map { tag in
      Language(accepting: String(tag.map { $0 == "_" ? "-" : $0 })) ?? .english
    }
  }

  /// - Returns: nil if the body does not name quiet hours; an inner nil if the user's quiet hours apply.
  /// - Throws: ``Failure/badRequest(_:)``.
  var phoneQuietHours: PhoneQuietHours?? {
    get throws {
      let timeZone = try timeZone.map(checkedTimeZone)
      return try quietHours.map { given in
        try given.map { PhoneQuietHours(try $0.hours, timeZone: timeZone) }
      }
    }
  }

  /// The push channel of the device.
  ///
  /// - Throws: ``Failure/badRequest(_:)``.
  private var channel: Channel {
    get throws {
      let byType: Channel? =
        switch tokenType {
        case nil: nil
        case "apns": .apns
        case "fcm": .fcm
        case "web": .webPush
        default: throw Failure.badRequest("token_type must be apns, fcm or web")
        }
      let byPlatform: Channel? =
        switch platform {
        case nil: nil
        case "ios", "macos": .apns
        case "android": .fcm
        case "web": .webPush
        default: throw Failure.badRequest("platform must be ios, macos, android or web")
        }
      let found = [byType, byPlatform, subscription == nil ? nil : .webPush].compactMap { $0 }
      guard Set(found).count <= 1 else {
        throw Failure.badRequest("platform, token_type and subscription contradict each other")
      }
      return found.first ?? .apns
    }
  }

  /// - Throws: ``Failure/badRequest(_:)``; ``Failure/webPushNotConfigured``.
  func device(in context: borrowing Context) throws -> TurnDevice {
    switch try channel {
    case .fcm:
      guard let token = deviceToken.flatMap(PushToken.init), let device = TurnDevice(android: token)
      else { throw Self.invalidToken }
      return device
    case .webPush:
      guard let subscription else { throw Failure.badRequest("subscription is required") }
      guard let webPush = context.settings.webPush else { throw Failure.webPushNotConfigured }
      let browser = try webPush.subscription(
        subscription.endpoint.trimmed, keys: subscription.keys.map { ($0.p256dh, $0.auth) })
      return TurnDevice(browser, sealed: try browser.sealed(for: context.settings.companionKeys))
    default:
      guard let token = deviceToken.flatMap(DeviceToken.init) else { throw Self.invalidToken }
      return TurnDevice(token)
    }
  }

  /// The token under which the device's registration is stored.
  ///
  /// - Throws: ``Failure/badRequest(_:)``.
  var token: String {
    get throws {
      let channel = try channel
      if let subscription {
        return WebSubscription.token(ofEndpoint: subscription.endpoint.trimmed).text
      }
      let token =
        channel == .apns
        ? deviceToken.flatMap(DeviceToken.init)?.text : deviceToken.flatMap(PushToken.init)?.text
      guard let token else { throw Self.invalidToken }
      return token
    }
  }

  private static let invalidToken = Failure.badRequest("Invalid device token")
}

extension Endpoint {
  static var registerForTurns: Endpoint {
    Endpoint(API.registerForTurns) {
      Operation(
        "Registers a phone or a browser for the turns of the key's user.", .apiKey,
        body: .json(Registration.self),
        answers: .json(["status": .words(["registered"]), "device_token?": .string]),
        errors: [.foreignKey, .webPushNotConfigured], limits: [.turnRegistrations])
    }
  }

  static var unregisterFromTurns: Endpoint {
    Endpoint(API.unregisterFromTurns) {
      Operation(
        "Removes a device from the turns of the key's user.", .apiKey,
        body: .json(Registration.self), answers: .status("unregistered"), errors: [.foreignKey])
    }
  }

  static var getUsersByToken: Endpoint {
    Endpoint(API.getUsersByToken) {
      Operation(
        "Lists the users for whose turns a device gets notifications, if the key's user is one.",
        .apiKey, item: .init("A token of a device."),
        answers: .json(["device_token": .string, "user_ids": .array(of: .string)]))
    }
  }
}
