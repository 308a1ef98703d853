import Base
import Store

extension NotificationContent {
  /// The payload for Apple's devices: JSON with `aps` and the values for the app. Browsers get the same.
  var apnsPayload: [UInt8] {
    JSONWriter.object { json in
      json.member("aps", object: writeAPS)
      if let data { json.members(of: data) }
    }
  }

  private func writeAPS(_ aps: inout JSONWriter) {
    // Wakes the app, which handles the data.
    if !isShown, data != nil { aps.member("content-available", 1 as Int64) }
    if let title {
      aps.member(
        "alert",
        object: { alert in
          alert.member("title", title)
          if let body { alert.member("body", body) }
        })
    } else if let body {
      aps.member("alert", body)
    }
    if let badge { aps.member("badge", badge) }
    if let sound { aps.member("sound", sound) }
    if let thread { aps.member("thread-id", thread) }
    if let category { aps.member("category", category) }
    if isUrgent { aps.member("interruption-level", "time-sensitive") }
  }
}
