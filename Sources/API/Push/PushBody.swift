import Base
import HTTP
import Store

/// The body of `POST /api/push/register`.
struct PushRegistration {
  static let schema: Schema = [
    "token": PushToken.schema, "platform?": .words(["ios", "android"]),
  ]

  let token: PushToken
  let platform: PushPlatform

  init(_ members: PushMembers) throws {
    guard let text = try members.tokenText(), !text.isEmpty else {
      throw Failure.badRequest("Push token is required")
    }
    token = try members.pushToken(text)
    guard !token.isOfBrowser else { throw Failure.badRequest(PushMembers.malformedToken) }
    switch try members.text(.platform, or: "Unsupported push platform")?.lowercased() {
    case nil, "ios": platform = .ios
    case "android": platform = .android
    default: throw Failure.badRequest("Unsupported push platform")
    }
  }
}

/// The body of `POST /api/push/test`.
struct DemoPushBody {
  static let schema: Schema = [
    "title?": .string.with("maxLength", .number(DemoPushMessage.maximumTitle)),
    "body?": .string.with("maxLength", .number(DemoPushMessage.maximumBody)),
    "token?": PushToken.schema,
    "badge?": .integer.with("minimum", .number(Int(DemoPushMessage.badges.lowerBound)))
      .with("maximum", .number(Int(DemoPushMessage.badges.upperBound))),
    "sound?": .string.with("maxLength", .number(DemoPushMessage.maximumSound)),
    "data?": Schema(types: ["object"]),
  ]

  let token: PushToken?
  let message: DemoPushMessage

  /// Reads and checks the members in the order that the contract fixes.
  init(_ members: PushMembers) throws {
    var title = try members.text(.title, or: "Title must be a string") ?? ""
    var text = try members.text(.body, or: "Body must be a string") ?? ""
    let tokenText = try members.tokenText()
    var sound = try members.text(.sound, or: "Sound must be a string") ?? ""
    try Self.check(title, "Notification title", atMost: DemoPushMessage.maximumTitle)
    try Self.check(text, "Notification body", atMost: DemoPushMessage.maximumBody)
    token = try tokenText.map(members.pushToken)
    let badge = try members.badge()
    try Self.check(sound, "Sound value", atMost: DemoPushMessage.maximumSound)
    let data = try members.data()
    if title.isEmpty { title = "ryOS test notification" }
    if text.isEmpty { text = "Push notifications are working 🎉" }
    if sound.isEmpty { sound = "default" }
    message = DemoPushMessage(
      title: title, body: text, badge: badge, sound: sound,
      data: data.map { String(decoding: $0, as: UTF8.self) })
  }

  private static func check(_ text: String, _ name: String, atMost limit: Int) throws {
    guard text.utf16.count <= limit else {
      throw Failure.badRequest("\(name) is too long (max \(limit) characters)")
    }
  }
}

/// The members of a body of the push family.
struct PushMembers {
  enum Name: String { case token, platform, title, body, badge, sound, data, endpoint, keys }

  /// A reader for each value, because the checks have another order than the members.
  private var values: [String: JSONReader] = [:]

  /// Reads the body as a JSON object; an empty body and `null` are the empty object.
  ///
  /// - Throws: ``Failure/badRequest(_:)`` with the message of the contract.
  init(_ request: Request) throws {
    guard !request.body.isEmpty else { return }
    var reader = JSONReader(request.body)
    do {
      if try !reader.null() {
        try reader.object { name, value in
          if values[name] == nil { values[name] = value }
          try value.skip()
        }
      }
      try reader.end()
    } catch is JSONReader.Failure {
      throw Failure.badRequest("Request body must be a JSON object")
    }
  }

  /// The result of `read` for the member; nil if it is missing.
  ///
  /// - Throws: ``Failure/badRequest(_:)`` with `complaint` if the member has another type, is null, or
  ///   is a number outside the range of Double.
  private func value<Value>(
    _ name: Name, or complaint: String, _ read: (inout JSONReader) throws -> Value
  ) throws -> Value? {
    guard var reader = values[name.rawValue] else { return nil }
    do {
      return try read(&reader)
    } catch let error where error is JSONReader.Failure || error is DecodingError {
      throw Failure.badRequest(complaint)
    }
  }

  /// The trimmed string of a member.
  func text(_ name: Name, or complaint: String) throws -> String? {
    try value(name, or: complaint) { try $0.string().trimmed }
  }

  /// `keys` of a browser's subscription: the text of `p256dh` and `auth`; nil if one is missing.
  func subscriptionKeys() throws -> (publicKey: String, authentication: String)? {
    let members = try value(.keys, or: Failure.malformedSubscriptionKeys.message) { reader in
      var members: [String: String] = [:]
      try reader.object { name, value in members[name] = try value.string() }
      return members
    }
    guard let publicKey = members?["p256dh"], let authentication = members?["auth"] else {
      return nil
    }
    return (publicKey, authentication)
  }

  fileprivate static let malformedToken = "Invalid push token format"

  func tokenText() throws -> String? { try text(.token, or: Self.malformedToken) }

  func pushToken(_ text: String) throws -> PushToken {
    guard let token = PushToken(text) else { throw Failure.badRequest(Self.malformedToken) }
    return token
  }

  /// The token, if the body names one.
  func pushToken() throws -> PushToken? { try tokenText().map(pushToken) }

  func badge() throws -> Int64? {
    let complaint = "Badge must be an integer"
    let number = try value(.badge, or: complaint) { reader in
      try decode(Double.self, from: Array(reader.number()))
    }
    guard let number else { return nil }
    guard number.rounded() == number else { throw Failure.badRequest(complaint) }
    let badges = DemoPushMessage.badges
    guard (Double(badges.lowerBound)...Double(badges.upperBound)).contains(number) else {
      throw Failure.badRequest("Badge must be between 0 and 9999")
    }
    return Int64(number)
  }

  /// The object for the app, as JSON text of at most 2048 bytes.
  func data() throws -> [UInt8]? {
    let complaint = "Data payload must be a JSON object"
    guard let text = try value(.data, or: complaint, { try SortedJSON.rewrite($0) })
    else { return nil }
    guard text.count <= DemoPushMessage.maximumData else {
      throw Failure.badRequest("Data payload is too large (max 2048 bytes)")
    }
    return text
  }
}
