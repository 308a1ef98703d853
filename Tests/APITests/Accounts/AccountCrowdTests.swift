import Foundation
import Support
import Testing

@testable import API

/// Requests of different people at the same time do not disturb each other.
@Suite struct AccountCrowdTests {
  private func body(_ number: Int) -> [String: any Sendable] {
    [
      "email": "user\(number)@example.org", "name": "User \(number)",
      "deviceId": "device-\(number)", "deviceName": "Phone", "platform": "ios",
      "pushToken": String(repeating: String(number % 10), count: 50) + "-\(number)",
    ]
  }

  @Test func twentyDevicesRegisterAtOnce() throws {
    try withApplication { site in
      let answers = inParallel(20) { number in
        site.send("POST", AccountPath.registerDevice, jsonText(body(number)))
      }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(Set(answers.map(\.text)))")
      #expect(site.count("device_registrations") == 20)
    }
  }

  @Test func twentyPeopleSignUpAtOnce() throws {
    try withApplication { site in
      let answers = inParallel(20) { number in
        site.send("POST", AccountPath.register, jsonText(body(number)))
      }
      let refused = answers.filter { $0.status != 201 }
      #expect(refused.isEmpty, "\(refused.map(\.text))")
      #expect(site.count("accounts") == 20)
      #expect(site.count("sessions") == 20)
    }
  }

  @Test func twentyPeopleSignInAtOnce() throws {
    try withApplication { site in
      var codes: [String] = []
      for number in 0..<20 {
        _ = try site.signUp(email: "user\(number)@example.org", device: "old-\(number)")
        #expect(
          site.requestCode("user\(number)@example.org", device: "device-\(number)").status == 200)
        codes.append(try site.mailedCode())
      }
      let known = codes
      let answers = inParallel(20) { number in
        site.verify("user\(number)@example.org", code: known[number], device: "device-\(number)")
      }
      let refused = answers.filter { $0.status != 200 }
      #expect(refused.isEmpty, "\(refused.map(\.text))")
      #expect(site.count("sessions") == 40)
    }
  }

  @Test func twentyPeopleRefreshAtOnce() throws {
    try withApplication { site in
      let people = try (0..<20).map {
        try site.signUp(email: "user\($0)@example.org", device: "device-\($0)")
      }
      let answers = inParallel(20) { site.refresh(people[$0].refreshToken) }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(Set(answers.map(\.status)))")
      #expect(Set(answers.map(\.refreshToken)).count == 20)
    }
  }

  @Test func twentyPeopleSetPushTokensAtOnce() throws {
    try withApplication { site in
      let people = try (0..<20).map {
        try site.signUp(email: "user\($0)@example.org", device: "device-\($0)")
      }
      let answers = inParallel(20) { number in
        site.send(
          "POST", AccountPath.pushToken,
          jsonText(["pushToken": body(number)["pushToken"]]), token: people[number].accessToken)
      }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(Set(answers.map(\.text)))")
      #expect(site.count("push_tokens") == 20)
    }
  }
}
