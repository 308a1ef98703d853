package import Base

/// The content of a test notification, within the limits of the contract.
package struct DemoPushMessage: JSONStored, Sendable, Equatable {
  /// Longest texts, in UTF-16 units.
  package static let (maximumTitle, maximumBody, maximumSound) = (120, 512, 64)
  package static let badges: ClosedRange<Int64> = 0...9999
  /// Bytes
  package static let maximumData = 2048

  package let title: String
  package let body: String
  package let badge: Int64?
  package let sound: String
  /// JSON text of an object, for the app.
  package let data: String?

  package init(title: String, body: String, badge: Int64?, sound: String, data: String?) {
    self.title = title
    self.body = body
    self.badge = badge
    self.sound = sound
    self.data = data
  }

  package func write(to object: inout JSONWriter) {
    object.member("title", title)
    object.member("body", body)
    if let badge { object.member("badge", badge) }
    object.member("sound", sound)
    object.member("data", data)
  }

  /// Whether the message is within the limits of a request.
  package var isWithinLimits: Bool {
    title.utf16.count <= Self.maximumTitle && body.utf16.count <= Self.maximumBody
      && sound.utf16.count <= Self.maximumSound && badge.map(Self.badges.contains) ?? true
      && data.map(Self.isData) ?? true
  }

  private static func isData(_ text: String) -> Bool {
    guard text.utf8.count <= maximumData else { return false }
    var reader = JSONReader(Array(text.utf8))
    do {
      try reader.object { _, value in try value.skip() }
      try reader.end()
      return true
    } catch {
      return false
    }
  }

  /// The notification: apps get the object for them as the value `data`.
  package var content: NotificationContent {
    NotificationContent(
      title: title, body: body, badge: badge, sound: sound,
      data: data.map { data in
        JSONWriter.object { json in json.member("data", json: Array(data.utf8)) }
      })
  }
}
