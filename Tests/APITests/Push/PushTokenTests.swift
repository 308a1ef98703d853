import Base
import Foundation
import HTTP
import Store
import Support
import Testing

@testable import API

/// `POST /api/push/register` and `/api/push/unregister`.
@Suite struct PushTokenTests {
  private func unregistered(
    removed: Int, malformed: Int = 0, lookups: Int = 0, set: Int = 0
  ) -> String {
    #"{"success":true,"removed":\#(removed),"metadataRemoved":\#(removed),"#
      + #""invalidStoredTokensRemoved":\#(malformed),"skippedNonStringTokenCount":0,"#
      + #""pushMetadataLookupConcurrency":\#(lookups),"removedUserTokenSet":\#(set)}"#
  }

  private func body(_ token: String) -> String { #"{"token":"\#(token)"}"# }

  @Test func aRegistrationAnswersInTheContractsShape() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.push(
        "register", #"{"token":"\#(pushTokenText())","platform":"ios"}"#, by: ann)
      #expect(answer.status == 200)
      #expect(
        answer.text == #"{"success":true,"token":"\#(pushTokenText())","platform":"ios"}"#)
      #expect(answer.crossOriginFields == Answer.allowed)
      #expect(answer.field("Content-Type") == "application/json")
      #expect(answer.field("X-Request-Id") == "request-1")
      #expect(site.pushRows == "a\tios\tann@example.org\tdevice-1")
      #expect(site.audited("push_token_set") == 1)
    }
  }

  @Test(arguments: [
    ("", "ios"), (#","platform":"ios""#, "ios"), (#","platform":" iOS ""#, "ios"),
    (#","platform":"android""#, "android"), (#","platform":"ANDROID""#, "android"),
    (#","platform":"ios","unknown":null"#, "ios"),
  ])
  func thePlatformIsIOSByDefault(member: String, platform: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.push("register", #"{"token":"\#(pushTokenText())"\#(member)}"#, by: ann)
      #expect(answer.status == 200)
      #expect(answer.string("platform") == platform)
      #expect(site.pushRows == "a\t\(platform)\tann@example.org\tdevice-1")
    }
  }

  @Test(arguments: [
    String(repeating: "a", count: 20), String(repeating: "Z", count: 512), "09azAZ:_-.09azAZ:_-.",
  ])
  func wellFormedTokensAreAccepted(token: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.push("register", #"{"token":" \#(token)\t"}"#, by: ann)
      #expect(answer.string("token") == token, "\(answer.text)")
      #expect(site.sql("SELECT token FROM push_tokens") == token)
      #expect(site.push("unregister", body("  \(token)"), by: ann)["removed"] as? Int == 1)
    }
  }

  private static let object = "Request body must be a JSON object"
  private static let required = "Push token is required"
  private static let format = "Invalid push token format"

  private static let refused: [(action: String, body: String, message: String)] = [
    ("register", "", required), ("register", "null", required), ("register", "{}", required),
    ("register", #"{"token":""}"#, required), ("register", #"{"token":" \n "}"#, required),
    ("register", #"{"token":null}"#, format), ("register", #"{"token":5}"#, format),
    ("register", #"{"token":["\#(pushTokenText())"]}"#, format),
    ("register", #"{"token":"\#(String(repeating: "a", count: 19))"}"#, format),
    ("register", #"{"token":"\#(String(repeating: "a", count: 513))"}"#, format),
    ("register", #"{"token":"\#(pushTokenText())/"}"#, format),
    ("register", #"{"token":"\#(pushTokenText()) b"}"#, format),
    ("register", #"{"token":"\#(pushTokenText())é"}"#, format),
    ("register", #"{"token":5,"platform":5}"#, format),
    (
      "register", #"{"token":"\#(pushTokenText())","platform":"windows"}"#,
      "Unsupported push platform"
    ),
    (
      "register", #"{"token":"\#(pushTokenText())","platform":"macos"}"#,
      "Unsupported push platform"
    ),
    ("register", #"{"token":"\#(pushTokenText())","platform":""}"#, "Unsupported push platform"),
    ("register", #"{"token":"\#(pushTokenText())","platform":null}"#, "Unsupported push platform"),
    ("register", #"{"token":"\#(pushTokenText())","platform":1}"#, "Unsupported push platform"),
    ("unregister", #"{"token":""}"#, format), ("unregister", #"{"token":"  "}"#, format),
    ("unregister", #"{"token":null}"#, format), ("unregister", #"{"token":false}"#, format),
    ("unregister", #"{"token":"short"}"#, format),
  ]
  private static let malformed = [
    "[]", "5", #""text""#, "true", "{", #"{"token"}"#, "{}x", " ", "\u{1}",
  ]

  @Test func aRefusedBodyChangesNothing() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.push("register", body(pushTokenText("k")), by: ann)
      let before = site.rows("push_tokens", "audit_log")
      for (action, body, message) in Self.refused {
        let answer = site.push(action, body, by: ann)
        #expect(answer.isPushError(400, message), "\(body): \(answer.text)")
      }
      for body in Self.malformed {
        for action in ["register", "unregister"] {
          let answer = site.push(action, body, by: ann)
          #expect(answer.isPushError(400, Self.object), "\(body): \(answer.text)")
        }
      }
      #expect(site.rows("push_tokens", "audit_log") == before)
    }
  }

  @Test func aTokenBelongsToWhoeverRegisteredItLast() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      site.push("register", body(pushTokenText()), by: ann)
      site.advance(by: .seconds(5))
      site.push("register", #"{"token":"\#(pushTokenText())","platform":"android"}"#, by: bob)
      #expect(site.pushRows == "a\tandroid\tbob@example.org\tdevice-2")
      #expect(
        site.sql("SELECT UNIX_TIMESTAMP(registered_at) FROM push_tokens").hasPrefix(
          "\(site.now.seconds)"))
      // The token now belongs to Bob, so Ann cannot remove it.
      #expect(
        site.push("unregister", body(pushTokenText()), by: ann).text == unregistered(removed: 0))
      #expect(site.push("unregister", "{}", by: ann).text == unregistered(removed: 0))
      #expect(site.pushRows == "a\tandroid\tbob@example.org\tdevice-2")
    }
  }

  @Test func theFamiliesShareTheRowOfAToken() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.push("register", body(pushTokenText()), by: ann)
      #expect(site.register(pushTokenText(), by: ann).status == 200)
      #expect(site.count("push_tokens") == 1)
      #expect(
        site.push("unregister", body(pushTokenText()), by: ann).text == unregistered(removed: 1))
    }
  }

  @Test func aTokenRegisteredByManyInParallelHasOneOwner() throws {
    try withApplication { site in
      let people = try (0..<12).map {
        try site.signUp(email: "p\($0)@example.org", device: "device-\($0)")
      }
      let answers = inParallel(people.count) {
        site.push("register", #"{"token":"\#(pushTokenText())"}"#, by: people[$0])
      }
      #expect(answers.allSatisfy { $0.status == 200 })
      #expect(site.count("push_tokens") == 1)
    }
  }

  @Test func aDeviceKeepsItsNewestHundredTokens() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let other = try site.signIn(device: "device-2")
      site.push("register", body(pushTokenText("z")), by: other)
      for number in 100..<205 {
        site.advance(by: .milliseconds(1))
        site.push("register", body("token-of-many-times-\(number)"), by: ann)
      }
      #expect(site.count("push_tokens WHERE token LIKE 'token%'") == 100)
      #expect(site.sql("SELECT MIN(token) FROM push_tokens") == "token-of-many-times-105")
      #expect(site.count("push_tokens WHERE token LIKE 'z%'") == 1)
    }
  }

  @Test func aTokenIsUnregisteredFromAnyDeviceOfTheAccount() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      for letter: Character in ["a", "b"] {
        site.push("register", body(pushTokenText(letter)), by: ann)
      }
      let answer = site.push("unregister", body(pushTokenText("b")), by: elsewhere)
      #expect(answer.text == unregistered(removed: 1))
      #expect(answer.crossOriginFields == Answer.allowed)
      #expect(site.pushRows == "a\tios\tann@example.org\tdevice-1")
      #expect(
        site.push("unregister", body(pushTokenText("b")), by: ann).text == unregistered(removed: 0))
      #expect(site.audited("push_token_removed") == 2)
    }
  }

  @Test(arguments: ["", "null", "{}", #"{"other":1}"#])
  func unregisterWithoutATokenRemovesAllOfTheAccount(body: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      let bob = try site.signUp(email: "bob@example.org", device: "device-3")
      for (person, letter) in zip([ann, ann, elsewhere, bob], "abcd") {
        site.push("register", self.body(pushTokenText(letter)), by: person)
      }
      site.insertMalformedToken("short")
      let application = site.sibling(settings: .ofTests(pushLookupConcurrency: 8))
      #expect(
        site.push("unregister", body, by: ann, to: application).text
          == unregistered(removed: 3, malformed: 1, lookups: 8, set: 1))
      #expect(site.pushRows == "d\tios\tbob@example.org\tdevice-3")
      #expect(site.push("unregister", body, by: ann).text == unregistered(removed: 0))
    }
  }

  @Test func malformedTokensAreRemovedButNotCountedAsASet() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for token in ["short", String(repeating: "a", count: 30) + "\\n", ""] {
        site.insertMalformedToken(token)
      }
      #expect(
        site.push("unregister", "{}", by: ann).text == unregistered(removed: 0, malformed: 3))
      #expect(site.count("push_tokens") == 0)
    }
  }

  @Test func theLookupConcurrencyComesFromTheSettings() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let application = site.sibling(settings: .ofTests(pushLookupConcurrency: 20))
      site.push("register", body(pushTokenText()), by: ann)
      #expect(
        site.push("unregister", "{}", by: ann, to: application).text
          == unregistered(removed: 1, lookups: 20, set: 1))
    }
  }
}
