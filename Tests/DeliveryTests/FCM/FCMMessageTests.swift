import Base
import Store
import Testing

@testable import Delivery

/// The notification in FCM's format.
@Suite struct FCMMessageTests {
  private func json(_ content: NotificationContent) throws -> String {
    String(
      decoding: try content.fcmMessage(to: "t", lifetime: .seconds(60)), as: UTF8.self)
  }

  @Test func titleBodySoundBadgeAndDataHaveTheirPlaces() throws {
    let data = """
      {"data":{"text":"x","number":1.5,"list":[1, "a"],"none":null,"from":"kept out"},
       "game_id":7}
      """
    let content = NotificationContent(
      title: "T", body: "B", badge: 3, sound: "default", data: Array(data.utf8), collapseID: "c")
    #expect(
      try json(content)
        == #"{"message":{"token":"t","notification":{"title":"T","body":"B"},"#
        + #""data":{"text":"x","number":"1.5","list":"[1, \"a\"]","none":"null","game_id":"7"},"#
        + #""android":{"collapse_key":"c","priority":"HIGH","ttl":"60s","#
        + #""notification":{"sound":"default","tag":"c","notification_count":3}}}}"#)
  }

  @Test func aTitleMayBeMissing() throws {
    #expect(
      try json(NotificationContent(body: "It's your turn"))
        == #"{"message":{"token":"t","notification":{"body":"It's your turn"},"#
        + #""android":{"priority":"HIGH","ttl":"60s","notification":{}}}}"#)
  }

  @Test func aBadgeAloneShowsNothing() throws {
    #expect(
      try json(NotificationContent(badge: 0))
        == #"{"message":{"token":"t","data":{"badge":"0"},"#
        + #""android":{"priority":"NORMAL","ttl":"60s"}}}"#)
  }

  /// FCM refuses a message with one of these ("Customize a message", reserved words).
  @Test(arguments: ["from", "message_type", "google.x", "gcm.x", "gcm.notification.title"])
  func reservedNamesAreLeftOut(name: String) throws {
    let data = #""data":{"gcm":"1","googled":"2","fromage":"3"}"#
    let all =
      #"{"\#(name)":"x","data":{"gcm":"1","\#(name)":"x","googled":"2"},"fromage":"3"}"#
    let text = try json(NotificationContent(data: Array(all.utf8)))
    #expect(text.contains(data), "\(text)")
  }

  @Test func dataThatIsNoObjectIsNoMessage() {
    for data in ["", "[]", #"{"data":"#, "{} x"] {
      #expect(throws: (any Error).self) {
        try json(NotificationContent(data: Array(data.utf8)))
      }
    }
  }
}
