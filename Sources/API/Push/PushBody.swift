import Base
import FoundationEssentials
import HTTP
import Store

extension Request {
  /// The body as a JSON object; none and `null` are the empty one.
  ///
  /// - Throws: ``Failure/badRequest(_:)`` in the words of the contract.
  func pushBody<Body: Decodable>(_ type: Body.Type) throws -> Body {
    let empty = Array("{}".utf8)
    do {
      return try API.decode(Body?.self, from: body.isEmpty ? empty : body)
        ?? API.decode(Body.self, from: empty)
    } catch let error where error is DecodingError || Failure.isInvalidJSON(error) {
      throw Failure.badRequest("Request body must be a JSON object")
    }
  }
}

extension Failure {
  fileprivate static func isInvalidJSON(_ error: any Error) -> Bool {
    (error as? Failure)?.message == Failure.invalidJSON.message
  }
}

/// The body of `POST /api/push/register`.
struct PushRegistration: Decodable {
  let token: PushToken
  let platform: DevicePlatform

  init(from decoder: any Decoder) throws {
    let body = try PushMembers(decoder)
    guard let token = try body.token(), !token.isEmpty else {
      throw Failure.badRequest("Push token is required")
    }
    self.token = try body.pushToken(token)
    switch try body.text(.platform, or: "Unsupported push platform")?.lowercased() {
    case nil, "ios": platform = .ios
    case "android": platform = .android
    default: throw Failure.badRequest("Unsupported push platform")
    }
  }
}

/// The body of `POST /api/push/unregister`; a token that is there must be one.
struct NamedToken: Decodable {
  let token: PushToken?

  init(from decoder: any Decoder) throws {
    let body = try PushMembers(decoder)
    token = try body.token().map(body.pushToken)
  }
}

/// The body of `POST /api/push/test`.
struct PushTestBody: Decodable {
  let token: PushToken?
  /// JSON text as it goes to Apple.
  let payload: [UInt8]

  /// The contract has an order in which the members are looked at.
  init(from decoder: any Decoder) throws {
    let body = try PushMembers(decoder)
    var title = try body.text(.title, or: "Title must be a string") ?? ""
    var message = try body.text(.body, or: "Body must be a string") ?? ""
    let token = try body.token()
    var sound = try body.text(.sound, or: "Sound must be a string") ?? ""
    guard title.utf16.count <= 120 else {
      throw Failure.badRequest("Notification title is too long (max 120 characters)")
    }
    guard message.utf16.count <= 512 else {
      throw Failure.badRequest("Notification body is too long (max 512 characters)")
    }
    self.token = try token.map(body.pushToken)
    let badge = try body.badge()
    guard sound.utf16.count <= 64 else {
      throw Failure.badRequest("Sound value is too long (max 64 characters)")
    }
    let data = try body.data()
    if title.isEmpty { title = "ryOS test notification" }
    if message.isEmpty { message = "Push notifications are working 🎉" }
    if sound.isEmpty { sound = "default" }
    payload = JSONWriter.object { json in
      json.member(
        "aps",
        object: { aps in
          aps.member(
            "alert",
            object: { alert in
              alert.member("title", title)
              alert.member("body", message)
            })
          if let badge { aps.member("badge", badge) }
          aps.member("sound", sound)
        })
      if let data { json.member("data", json: data) }
    }
  }
}

/// The members of a body of the push family.
private struct PushMembers {
  enum Name: String, CodingKey { case token, platform, title, body, badge, sound, data }

  private let container: KeyedDecodingContainer<Name>

  init(_ decoder: any Decoder) throws {
    container = try decoder.container(keyedBy: Name.self)
  }

  /// The member, if it is there.
  ///
  /// - Throws: ``Failure/badRequest(_:)`` with `complaint` where it is anything else, null included.
  private func value<Value: Decodable>(_ name: Name, or complaint: String) throws -> Value? {
    guard container.contains(name) else { return nil }
    do {
      return try container.decode(Value.self, forKey: name)
    } catch is DecodingError {
      throw Failure.badRequest(complaint)
    }
  }

  /// A string, trimmed.
  func text(_ name: Name, or complaint: String) throws -> String? {
    let text: String? = try value(name, or: complaint)
    return text?.trimmed
  }

  func token() throws -> String? { try text(.token, or: Self.badToken) }

  func pushToken(_ text: String) throws -> PushToken {
    guard let token = PushToken(text) else { throw Failure.badRequest(Self.badToken) }
    return token
  }

  private static let badToken = "Invalid push token format"

  func badge() throws -> Int64? {
    let complaint = "Badge must be an integer"
    guard let number: Double = try value(.badge, or: complaint) else { return nil }
    guard number.rounded() == number else { throw Failure.badRequest(complaint) }
    guard (0...9999).contains(number) else {
      throw Failure.badRequest("Badge must be between 0 and 9999")
    }
    return Int64(number)
  }

  /// The object that the app is given, as JSON text of at most 2048 bytes.
  func data() throws -> [UInt8]? {
    let complaint = "Data payload must be a JSON object"
    guard let object: [String: JSONValue] = try value(.data, or: complaint) else { return nil }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let text = Array(try encoder.encode(object))
    guard text.count <= 2048 else {
      throw Failure.badRequest("Data payload is too large (max 2048 bytes)")
    }
    return text
  }
}

/// Any JSON value (RFC 8259).
private enum JSONValue: Codable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Deeper values would need more stack than a worker has.
  private static let deepest = 32

  init(from decoder: any Decoder) throws {
    guard decoder.codingPath.count <= Self.deepest else {
      throw Failure.badRequest("Data payload is nested too deeply (max \(Self.deepest) levels)")
    }
    // What it is not is tried, for want of another way to ask a decoder for a type.
    if (try? decoder.container(keyedBy: PushMembers.Name.self)) != nil {
      self = .object(try [String: JSONValue](from: decoder))
    } else if (try? decoder.unkeyedContainer()) != nil {
      self = .array(try [JSONValue](from: decoder))
    } else {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let boolean = try? container.decode(Bool.self) {
        self = .boolean(boolean)
      } else if let integer = try? container.decode(Int64.self) {
        self = .integer(integer)
      } else if let number = try? container.decode(Double.self) {
        self = .number(number)
      } else {
        self = .string(try container.decode(String.self))
      }
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .boolean(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let values): try container.encode(values)
    case .object(let members): try container.encode(members)
    }
  }
}
