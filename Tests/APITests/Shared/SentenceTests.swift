import Testing

@testable import API

/// The sentence of a 400 for people, and its members for programs.
@Suite struct SentenceTests {
  private static let device = #""deviceId":"d","deviceName":"D""#
  private static let person = #""name":"Ann","platform":"ios""#

  @Test(arguments: [
    (
      AccountPath.register, #"{"email":"ann",\#(person),\#(device)}"#,
      "Invalid email format. Enter an address such as name@example.org.", "email",
      "not_an_email_address"
    ),
    (
      AccountPath.register, #"{\#(person),\#(device)}"#, "Enter your e-mail address.", "email",
      "missing"
    ),
    (
      AccountPath.register, #"{"email":"a@b.c","name":" ",\#(device)}"#, "Enter a name.", "name",
      "empty"
    ),
    (
      AccountPath.register, #"{"email":"a@b.c","name":"a\u0007b",\#(device)}"#,
      "The name has characters that cannot be shown. Remove them and try again.", "name",
      "control_character"
    ),
    (
      AccountPath.registerDevice, #"{"platform":"ios",\#(device.replacing("D", with: longName))}"#,
      "The deviceName is too long. Shorten it and try again.", "deviceName", "too_long"
    ),
    (
      AccountPath.registerDevice, #"{"platform":"ios","deviceName":"D"}"#,
      "The app sent no deviceId. Update the app and try again.", "deviceId", "missing"
    ),
    (
      AccountPath.verify, #"{"email":"a@b.c","deviceId":"d"}"#, "Enter the code from the mail.",
      "code", "missing"
    ),
    (
      AccountPath.refresh, #"{"refreshToken":7}"#,
      "The app sent a wrong refreshToken. Update the app and try again.", "refreshToken",
      "wrong_type"
    ),
    (
      AccountPath.refresh, "[]", "The app sent no JSON object. Update the app and try again.", "",
      "wrong_type"
    ),
  ])
  func a400SaysWhatToDoAndNamesTheMember(
    path: String, body: String, message: String, field: String, reason: String
  ) throws {
    try withApplication { site in
      let answer = site.send("POST", path, body)
      #expect(answer.status == 400)
      #expect(
        answer.text == #"{"error":"bad_request","message":"\#(message)","#
          + #""details":{"field":"\#(field)","reason":"\#(reason)"}}"#)
    }
  }

  private static let longName = String(repeating: "x", count: 201)

  @Test func anUnknownPlatformIsToldTheKnownOnes() throws {
    try withApplication { site in
      let answer = site.send(
        "POST", AccountPath.registerDevice, #"{"platform":"windows",\#(Self.device)}"#)
      #expect(
        answer.text == #"{"error":"bad_request","message":"The platform must be one of ios, "#
          + #"android, macos. Update the app and try again.","details":{"field":"platform","#
          + #""reason":"unknown_platform","value":"windows"}}"#)
    }
  }
}
