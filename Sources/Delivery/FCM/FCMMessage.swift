import Base

/// FCM message (HTTP v1, `projects.messages`), made from a payload for Apple.
struct FCMMessage {
  /// Content of Apple's payload, as far as Android can show it.
  fileprivate struct Content {
    var title: String?
    var body: String?
    var sound: String?
    var badge: Int64?
    /// Data for the app. FCM accepts only strings, so other values are JSON text.
    var data: [(name: String, value: String)] = []

    var isShown: Bool { title != nil || body != nil }
  }

  private let token: String
  private let content: Content
  private let collapseID: String?
  private let lifetime: Duration

  /// - Parameters:
  ///   - payload: JSON object with `aps` and data for the app.
  ///   - collapseID: a device shows only the last message with the same id.
  ///   - lifetime: time for which FCM keeps the message for an offline device.
  /// - Throws: ``JSONReader/Failure`` if the payload is not such an object.
  init(token: String, payload: [UInt8], collapseID: String?, lifetime: Duration) throws {
    self.token = token
    self.collapseID = collapseID
    self.lifetime = min(max(lifetime, .zero), .seconds(28 * 86_400))  // FCM's limit: four weeks
    var content = Content()
    var reader = JSONReader(payload)
    try reader.object { name, value in
      switch name {
      case "aps": try content.readAPS(&value)
      case "data": try content.readData(&value)
      default: try content.add(name, &value)
      }
    }
    try reader.end()
    self.content = content
  }

  /// The body of `POST …/messages:send`.
  var json: [UInt8] {
    JSONWriter.object { json in
      json.member("message", object: write)
    }
  }

  private func write(_ json: inout JSONWriter) {
    json.member("token", token)
    if content.isShown {
      json.member(
        "notification",
        object: { notification in
          if let title = content.title { notification.member("title", title) }
          if let body = content.body { notification.member("body", body) }
        })
    }
    var data = content.data
    if !content.isShown, let badge = content.badge { data.append(("badge", "\(badge)")) }
    if !data.isEmpty {
      json.member(
        "data",
        object: { object in
          for (name, value) in data { object.member(named: name, value) }
        })
    }
    json.member("android", object: writeAndroid)
  }

  private func writeAndroid(_ android: inout JSONWriter) {
    if let collapseID { android.member("collapse_key", collapseID) }
    android.member("priority", content.isShown ? "HIGH" : "NORMAL")
    android.member("ttl", "\(lifetime.components.seconds)s")
    guard content.isShown else { return }
    android.member(
      "notification",
      object: { notification in
        if let sound = content.sound { notification.member("sound", sound) }
        if let collapseID { notification.member("tag", collapseID) }
        if let badge = content.badge { notification.member("notification_count", badge) }
      })
  }
}

extension FCMMessage.Content {
  mutating func readAPS(_ value: inout JSONReader) throws {
    try value.object { name, value in
      switch name {
      case "alert": try readAlert(&value)
      case "badge": badge = try value.optionalInteger()
      case "sound": sound = try value.optionalString()
      default: try value.skip()
      }
    }
  }

  /// Reads a text, or an object with title and body.
  private mutating func readAlert(_ value: inout JSONReader) throws {
    var other = value
    if let text = try value.optionalString() {
      body = text
      return
    }
    _ = try other.optionalObject { name, value in
      switch name {
      case "title": title = try value.optionalString()
      case "body": body = try value.optionalString()
      default: try value.skip()
      }
    }
  }

  mutating func readData(_ value: inout JSONReader) throws {
    _ = try value.optionalObject { name, value in try add(name, &value) }
  }

  /// Adds a value for the app. Skips names that FCM reserves and refuses.
  mutating func add(_ name: String, _ value: inout JSONReader) throws {
    let written = Array(try value.written())
    let isReserved =
      ["from", "message_type"].contains(name) || name.hasPrefix("google.")
      || name.hasPrefix("gcm.")
    if isReserved || data.contains(where: { $0.name == name }) { return }
    var reader = JSONReader(written)
    data.append((name, try reader.optionalString() ?? String(decoding: written, as: UTF8.self)))
  }
}
