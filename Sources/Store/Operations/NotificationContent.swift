import MariaDB

/// The content of a notification, without the dialect of a channel: each channel writes its own JSON
/// from it.
package struct NotificationContent: Sendable, Equatable {
  package let title: String?
  package let body: String?
  /// The number on the app's icon; nil: it stays.
  package let badge: Int64?
  package let sound: String?
  /// Devices group the notifications of a thread.
  package let thread: String?
  /// The name of the app's group of actions.
  package let category: String?
  /// Whether it breaks through a Focus.
  package let isUrgent: Bool
  /// Values for the app: JSON text of an object with at least one member.
  package let data: [UInt8]?
  /// At most 64 bytes: a device shows only the newest notification with the same id.
  package var collapseID: String?

  package init(
    title: String? = nil, body: String? = nil, badge: Int64? = nil, sound: String? = nil,
    thread: String? = nil, category: String? = nil, isUrgent: Bool = false, data: [UInt8]? = nil,
    collapseID: String? = nil
  ) {
    self.title = title
    self.body = body
    self.badge = badge
    self.sound = sound
    self.thread = thread
    self.category = category
    self.isUrgent = isUrgent
    self.data = data
    self.collapseID = collapseID
  }

  /// Whether the device shows a text. Other notifications only set the number on the app's icon or
  /// tell the app something: they need not wake the device.
  package var isShown: Bool { title != nil || body != nil }
}

extension NotificationContent {
  /// The columns title, body, badge, sound, thread, category, is_urgent, data, collapse_id, in that
  /// order from `first`.
  init(row: borrowing Row, _ first: Int) {
    self.init(
      title: row.optionalText(first), body: row.optionalText(first + 1),
      badge: row.optionalInteger(first + 2), sound: row.optionalText(first + 3),
      thread: row.optionalText(first + 4), category: row.optionalText(first + 5),
      isUrgent: row.boolean(first + 6), data: row.optionalBytes(first + 7),
      collapseID: row.text(first + 8))
  }

  /// The values of the same columns.
  var parameters: [Parameter] {
    [
      .text(title), .text(body), .integer(badge), .text(sound), .text(thread), .text(category),
      .boolean(isUrgent), .bytes(data), .text(collapseID),
    ]
  }
}
