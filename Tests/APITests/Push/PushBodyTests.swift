import Delivery
import Foundation
import HTTP
import Support
import Synchronization
import Testing

@testable import API

/// The checks of the body of `POST /api/push/test`.
@Suite struct PushBodyTests {
  private static let complaints: [(body: String, message: String)] = [
    ("[]", "Request body must be a JSON object"), ("{", "Request body must be a JSON object"),
    ("1", "Request body must be a JSON object"),
    (#"{"title":1}"#, "Title must be a string"), (#"{"title":null}"#, "Title must be a string"),
    (#"{"body":["x"]}"#, "Body must be a string"), (#"{"body":null}"#, "Body must be a string"),
    (#"{"sound":1}"#, "Sound must be a string"), (#"{"sound":null}"#, "Sound must be a string"),
    (#"{"token":1}"#, "Invalid push token format"),
    (#"{"token":null}"#, "Invalid push token format"),
    (#"{"token":""}"#, "Invalid push token format"),
    (#"{"token":"   "}"#, "Invalid push token format"),
    (#"{"token":"short"}"#, "Invalid push token format"),
    (#"{"title":"\#(text(121))"}"#, "Notification title is too long (max 120 characters)"),
    (#"{"title":"\#(emoji(60))x"}"#, "Notification title is too long (max 120 characters)"),
    (#"{"body":"\#(text(513))"}"#, "Notification body is too long (max 512 characters)"),
    (#"{"body":"\#(emoji(256))x"}"#, "Notification body is too long (max 512 characters)"),
    (#"{"sound":"\#(text(65))"}"#, "Sound value is too long (max 64 characters)"),
    (#"{"sound":"\#(emoji(33))"}"#, "Sound value is too long (max 64 characters)"),
    (#"{"badge":1.5}"#, "Badge must be an integer"),
    (#"{"badge":"1"}"#, "Badge must be an integer"),
    (#"{"badge":null}"#, "Badge must be an integer"),
    (#"{"badge":true}"#, "Badge must be an integer"),
    (#"{"badge":[1]}"#, "Badge must be an integer"),
    (#"{"badge":-1}"#, "Badge must be between 0 and 9999"),
    (#"{"badge":10000}"#, "Badge must be between 0 and 9999"),
    (#"{"badge":1e30}"#, "Badge must be between 0 and 9999"),
    (#"{"data":null}"#, "Data payload must be a JSON object"),
    (#"{"data":[]}"#, "Data payload must be a JSON object"),
    (#"{"data":"x"}"#, "Data payload must be a JSON object"),
    (#"{"data":{"a":"\#(text(2041))"}}"#, "Data payload is too large (max 2048 bytes)"),
    (#"{"data":{"a":"\#(emoji(511))"}}"#, "Data payload is too large (max 2048 bytes)"),
    (#"{"data":{"a":\#(nested(32))}}"#, "Data payload is nested too deeply (max 32 levels)"),
    (#"{"data":{"a":\#(nested(100))}}"#, "Data payload is nested too deeply (max 32 levels)"),
    (#"{"data":{"a":\#(nested(500))}}"#, "Request body must be a JSON object"),
    (#"{"data":\#(nested(20_000))}"#, "Request body must be a JSON object"),
    // The order: types of title, body, token, sound; lengths of title, body; token; badge; length
    // of sound; data.
    (#"{"data":1,"sound":1,"token":1,"body":1,"title":1}"#, "Title must be a string"),
    (#"{"data":1,"sound":1,"token":1,"body":1,"title":"\#(text(121))"}"#, "Body must be a string"),
    (#"{"data":1,"sound":1,"token":1,"title":"\#(text(121))"}"#, "Invalid push token format"),
    (#"{"data":1,"sound":1,"token":"x","title":"\#(text(121))"}"#, "Sound must be a string"),
    (
      #"{"data":1,"badge":"","token":"x","body":"\#(text(513))","title":"\#(text(121))"}"#,
      "Notification title is too long (max 120 characters)"
    ),
    (
      #"{"data":1,"badge":"","token":"x","body":"\#(text(513))"}"#,
      "Notification body is too long (max 512 characters)"
    ),
    (
      #"{"data":1,"sound":"\#(text(65))","badge":"","token":"x"}"#, "Invalid push token format"
    ),
    (#"{"data":1,"sound":"\#(text(65))","badge":""}"#, "Badge must be an integer"),
    (#"{"data":1,"sound":"\#(text(65))"}"#, "Sound value is too long (max 64 characters)"),
  ]

  private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }
  /// Text of `count` characters, each of two UTF-16 units and four octets.
  private static func emoji(_ count: Int) -> String { String(repeating: "🎉", count: count) }
  private static func nested(_ count: Int) -> String {
    String(repeating: "[", count: count) + String(repeating: "]", count: count)
  }

  @Test func aRefusedBodyIsNotSent() throws {
    try withAnn { site, ann, _ in
      for (body, message) in Self.complaints {
        let answer = site.push("test", body, by: ann)
        #expect(answer.isPushError(400, message), "\(body.prefix(100)): \(answer.text)")
      }
      #expect(site.count("jobs") == 0)
    }
  }

  /// A worker's stack is 512 KiB.
  @Test(arguments: [30, 31, 500, 512, 20_000])
  func aDeepBodyDoesNotOverflowTheStackOfAWorker(depth: Int) throws {
    try withAnn { site, ann, _ in
      let isDone = DispatchSemaphore(value: 0)
      let status = Mutex(0)
      let thread = Thread {
        let answer = site.push("test", #"{"data":{"a":\#(Self.nested(depth))}}"#, by: ann)
        status.withLock { $0 = answer.status }
        isDone.signal()
      }
      thread.stackSize = 512 << 10
      thread.start()
      waiting(for: "the answer") { isDone.wait() }
      #expect(status.withLock { $0 } == 400)
    }
  }

  private static let payloads: [(body: String, payload: String)] = [
    ("", payload()), ("null", payload()), ("{}", payload()), (#"{"other":[]}"#, payload()),
    (#"{"title":"","body":" \n ","sound":" "}"#, payload()),
    (#"{"title":" T ","body":"\tB\n"}"#, payload(title: "T", body: "B")),
    (#"{"title":"\#(text(120))"}"#, payload(title: text(120))),
    (#"{"title":" \#(emoji(60)) "}"#, payload(title: emoji(60))),
    (#"{"body":"\#(emoji(256))"}"#, payload(body: emoji(256))),
    (#"{"sound":" chime.caf "}"#, payload(sound: "chime.caf")),
    (#"{"sound":"\#(text(64))"}"#, payload(sound: text(64))),
    (#"{"badge":0}"#, payload(badge: 0)), (#"{"badge":9999}"#, payload(badge: 9999)),
    (#"{"badge":1.0}"#, payload(badge: 1)), (#"{"badge":1e3}"#, payload(badge: 1000)),
    (#"{"badge":-0.0}"#, payload(badge: 0)),
    (#"{"data":{}}"#, payload(data: "{}")),
    (#"{"data":{"source":"manual-test"}}"#, payload(data: #"{"source":"manual-test"}"#)),
    (
      #"{"data": { "b" : [ 1 , 2.5, true, false, null, "\u00e9\/" ] , "a" : {"c":"x"} } }"#,
      payload(data: #"{"a":{"c":"x"},"b":[1,2.5,true,false,null,"é/"]}"#)
    ),
    (
      #"{"data":{"a":"\#(text(2040))"}}"#, payload(data: #"{"a":"\#(text(2040))"}"#)
    ),
    (#"{"data":{"a":\#(nested(30))}}"#, payload(data: #"{"a":\#(nested(30))}"#)),
  ]

  private static func payload(
    title: String = "ryOS test notification", body: String = "Push notifications are working 🎉",
    badge: Int? = nil, sound: String = "default", data: String? = nil
  ) -> String {
    #"{"aps":{"alert":{"title":"\#(title)","body":"\#(body)"},"#
      + (badge.map { #""badge":\#($0),"# } ?? "") + #""sound":"\#(sound)"}"#
      + (data.map { #","data":\#($0)"# } ?? "") + "}"
  }

  @Test func theNotificationHasTheBodysMembersOrDefaults() throws {
    try withAnn { site, ann, _ in
      site.register("a", of: ann)
      let sent = Mutex<[String]>([])
      let sender = DirectSender(topic: "org.example.app", concurrency: 4) { notifications in
        sent.withLock { sent in
          sent += notifications.map { String(decoding: $0.payload, as: UTF8.self) }
        }
        return [:]
      }
      try site.withCompanion(sender) {
        for (body, _) in Self.payloads {
          #expect(site.push("test", body, by: ann).status == 200, "\(body.prefix(100))")
        }
      }
      #expect(sent.withLock { $0 } == Self.payloads.map(\.payload))
    }
  }

  @Test func aNotificationTooLargeAfterEscapingIsNotSent() throws {
    try withAnn { site, ann, _ in
      site.register("a", of: ann)
      let controls = String(repeating: #"\u0001"#, count: 512)
      let answer = try site.withCompanion(.silent) {
        site.push(
          "test", #"{"body":"\#(controls)","data":{"a":"\#(Self.text(2040))","b":1}}"#, by: ann)
      }
      #expect(answer.isPushError(400, "Data payload is too large (max 2048 bytes)"))
      let large = try site.withCompanion(.silent) {
        site.push(
          "test", #"{"body":"\#(controls)","data":{"a":"\#(Self.text(2040))"}}"#, by: ann)
      }
      #expect(large.sends == ["a false 0 PayloadTooLarge"])
    }
  }
}
