package import Store

/// One push notification to one device.
///
/// A class, because it is passed often: copying a struct would count five references.
package final class APNsNotification: Sendable {
  /// Maximum size of a payload, in bytes.
  package static let maximumPayloadSize = 4096
  /// Maximum size of a collapse id and of a topic, in bytes.
  package static let maximumCollapseIDSize = 64
  package static let maximumTopicSize = 255

  /// `apns-id`: a lower-case UUID. Apple returns it, but does not detect duplicates with it.
  package let id: String
  /// Device token; its characters need no escaping in a path.
  package let token: PushToken
  /// `apns-topic`: the app's bundle identifier.
  package let topic: String
  /// `apns-collapse-id`: a device shows only the last notification with the same id.
  package let collapseID: String?
  /// `apns-expiration`: Unix seconds until which Apple retries; 0 means one attempt.
  package let expiration: Int64
  package let priority: Priority
  /// JSON text.
  package let payload: [UInt8]

  /// `apns-priority`
  package enum Priority: Int, Sendable {
    case immediate = 10
    case considerate = 5
    case lowest = 1
  }

  /// - Returns: nil if `id` is not a lower-case UUID, if a value is empty or too long, or if the
  ///   topic or collapse id holds characters other than visible ASCII.
  package init?(
    id: String, token: PushToken, topic: String, collapseID: String? = nil, expiration: Int64 = 0,
    priority: Priority = .immediate, payload: [UInt8]
  ) {
    guard Self.isUUID(id), Self.isFieldValue(topic, atMost: Self.maximumTopicSize),
      collapseID.map({ Self.isFieldValue($0, atMost: Self.maximumCollapseIDSize) }) ?? true,
      expiration >= 0, (1...Self.maximumPayloadSize).contains(payload.count)
    else { return nil }
    self.id = id
    self.token = token
    self.topic = topic
    self.collapseID = collapseID
    self.expiration = expiration
    self.priority = priority
    self.payload = payload
  }

  private static func isUUID(_ text: String) -> Bool {
    let text = text.utf8.span
    guard text.count == 36 else { return false }
    for index in text.indices {
      switch (index, text[index]) {
      case (8, UInt8(ascii: "-")), (13, UInt8(ascii: "-")), (18, UInt8(ascii: "-")),
        (23, UInt8(ascii: "-")):
        continue
      case (8, _), (13, _), (18, _), (23, _): return false
      case (_, UInt8(ascii: "0")...UInt8(ascii: "9")), (_, UInt8(ascii: "a")...UInt8(ascii: "f")):
        continue
      default: return false
      }
    }
    return true
  }

  private static func isFieldValue(_ text: String, atMost limit: Int) -> Bool {
    (1...limit).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}
