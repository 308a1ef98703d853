import Base
import Testing

@testable import Delivery

/// The conversion of Apple's payload to FCM's format.
@Suite struct FCMMessageTests {
  private func json(_ payload: String, collapseID: String? = nil) throws -> String {
    let message = try FCMMessage(
      token: "t", payload: Array(payload.utf8), collapseID: collapseID, lifetime: .seconds(60))
    return String(decoding: message.json, as: UTF8.self)
  }

  @Test func titleBodySoundBadgeAndDataHaveTheirPlaces() throws {
    let payload = """
      {"aps":{"alert":{"title":"T","body":"B"},"badge":3,"sound":"default"},
       "data":{"text":"x","number":1.5,"list":[1, "a"],"none":null,"from":"kept out"},
       "game_id":7}
      """
    #expect(
      try json(payload, collapseID: "c")
        == #"{"message":{"token":"t","notification":{"title":"T","body":"B"},"#
        + #""data":{"text":"x","number":"1.5","list":"[1, \"a\"]","none":"null","game_id":"7"},"#
        + #""android":{"collapse_key":"c","priority":"HIGH","ttl":"60s","#
        + #""notification":{"sound":"default","tag":"c","notification_count":3}}}}"#)
  }

  @Test func anAlertMayBeAText() throws {
    #expect(
      try json(#"{"aps":{"alert":"It's your turn"}}"#)
        == #"{"message":{"token":"t","notification":{"body":"It's your turn"},"#
        + #""android":{"priority":"HIGH","ttl":"60s","notification":{}}}}"#)
  }

  @Test func aBadgeAloneShowsNothing() throws {
    #expect(
      try json(#"{"aps":{"badge":0}}"#)
        == #"{"message":{"token":"t","data":{"badge":"0"},"#
        + #""android":{"priority":"NORMAL","ttl":"60s"}}}"#)
  }

  /// FCM refuses a message with one of these ("Customize a message", reserved words).
  @Test(arguments: ["from", "message_type", "google.x", "gcm.x", "gcm.notification.title"])
  func reservedNamesAreLeftOut(name: String) throws {
    let data = #""data":{"gcm":"1","googled":"2","fromage":"3"}"#
    let payload =
      #"{"aps":{},"\#(name)":"x","data":{"gcm":"1","\#(name)":"x","googled":"2"},"fromage":"3"}"#
    let text = try json(payload)
    #expect(text.contains(data), "\(text)")
  }

  @Test func whatIsNoPayloadIsNoMessage() {
    for payload in ["", "[]", #"{"aps":"#, "{} x"] {
      #expect(throws: (any Error).self) { try json(payload) }
    }
  }
}
