import Base
import Store

extension NotificationContent {
  /// FCM message (HTTP v1, `projects.messages`): the body of `POST …/messages:send`.
  ///
  /// - Parameter lifetime: time for which FCM keeps the message for an offline device.
  /// - Throws: ``JSONReader/Failure`` if the data is not a JSON object.
  func fcmMessage(to token: String, lifetime: Duration) throws -> [UInt8] {
    var values = try fcmValues()
    if !isShown, let badge { values.append(("badge", "\(badge)")) }
    let lifetime = min(max(lifetime, .zero), .seconds(28 * 86_400))  // FCM's limit: four weeks
    let message = JSONWriter.object { message in
      message.member("token", token)
      if isShown {
        message.member(
          "notification",
          object: { notification in
            if let title { notification.member("title", title) }
            if let body { notification.member("body", body) }
          })
      }
      if !values.isEmpty {
        message.member(
          "data",
          object: { data in
            for (name, value) in values { data.member(named: name, value) }
          })
      }
      message.member("android", object: { writeAndroid(&$0, lifetime) })
    }
    return JSONWriter.object { json in json.member("message", json: message) }
  }

  private func writeAndroid(_ android: inout JSONWriter, _ lifetime: Duration) {
    if let collapseID { android.member("collapse_key", collapseID) }
    android.member("priority", isShown ? "HIGH" : "NORMAL")
    android.member("ttl", "\(lifetime.components.seconds)s")
    guard isShown else { return }
    android.member(
      "notification",
      object: { notification in
        if let sound { notification.member("sound", sound) }
        if let collapseID { notification.member("tag", collapseID) }
        if let badge { notification.member("notification_count", badge) }
      })
  }

  /// The values for the app, and those in the object `data`. FCM accepts only strings, so other
  /// values are JSON text. Skips names that FCM reserves and refuses.
  private func fcmValues() throws -> [(name: String, value: String)] {
    var values: [(name: String, value: String)] = []
    func add(_ name: String, _ value: inout JSONReader) throws {
      let written = Array(try value.written())
      let isReserved =
        ["from", "message_type"].contains(name) || name.hasPrefix("google.")
        || name.hasPrefix("gcm.")
      if isReserved || values.contains(where: { $0.name == name }) { return }
      var reader = JSONReader(written)
      values.append((name, try reader.optionalString() ?? String(decoding: written, as: UTF8.self)))
    }
    guard let data else { return values }
    var reader = JSONReader(data)
    try reader.object { name, value in
      if name == "data" { _ = try value.optionalObject(add) } else { try add(name, &value) }
    }
    try reader.end()
    return values
  }
}
