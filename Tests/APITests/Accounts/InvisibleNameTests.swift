import Support
import Testing

@testable import API

/// Names that nobody sees.
@Suite struct InvisibleNameTests {
  private static let invisible = [
    "\u{200F}", "\u{3164}", "\u{2028}", "\u{2029}", "\u{200B}\u{2060}", "\u{2800}", "\u{FE0F}",
    "\u{AD}",
    "\u{115F}\u{1160}", "\u{FFA0}", "\u{E0041}", " \u{3000}\u{200D} ", "\u{180E}",
  ]

  @Test(arguments: invisible)
  func anAccountNeedsANameThatPeopleSee(name: String) throws {
    try withApplication { site in
      let device = #""deviceId":"d","deviceName":"D","platform":"ios""#
      let answer = site.send(
        "POST", AccountPath.register,
        #"{"email":"bob@example.org","name":"\#(name)",\#(device)}"#)
      #expect(answer.isError(400, "bad_request"))
      #expect(answer.complaint == "name: empty")
      let ann = try site.signUp()
      let change = site.send(
        "PUT", "/api/mobile/profile", #"{"name":"\#(name)"}"#, token: ann.accessToken)
      #expect(change.isError(400, "bad_request"))
      let renaming = site.send(
        "PUT", "/api/mobile/devices/device-1", #"{"name":"\#(name)"}"#, token: ann.accessToken)
      #expect(renaming.isError(400, "bad_request"))
    }
  }

  /// A phone sends the name that its owner gave it, and must get in with any.
  @Test(
    arguments: invisible.map { ($0, "ios") } + [
      ("", "ios"), (" \u{7}", "ios"), ("Ann\u{200F}\u{3164}'s phone\u{2028}", "Ann's phone"),
      ("A\u{0}n\u{1B}n\u{202E}", "Ann"), ("می\u{200C}خواهم", "می\u{200C}خواهم"),
      ("👩\u{200D}👧 ❤\u{FE0F}", "👩\u{200D}👧 ❤\u{FE0F}"),
    ])
  func whatCannotBeShownIsDroppedFromADevice(name: String, stored: String) throws {
    try withApplication { site in
      let body = jsonText(["deviceId": "device-1", "deviceName": name, "platform": "ios"])
      let answer = site.send("POST", AccountPath.registerDevice, body)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(site.sql("SELECT name FROM device_registrations") == stored)
      let account = jsonText([
        "email": "ann@example.org", "name": "Ann", "deviceId": "device-1", "deviceName": name,
        "platform": "ios",
      ])
      #expect(site.send("POST", AccountPath.register, account).status == 201)
      #expect(site.sql("SELECT name FROM devices") == stored)
    }
  }
}
