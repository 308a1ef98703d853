import Testing

@testable import API

/// A phone of an online-go.com user.
struct TurnsPhone {
  let site: TestApplication
  let user: Int
  let key: String

  static let token = String(repeating: "ab", count: 32)

  func send(_ method: String, _ path: String, _ json: String = "") -> Answer {
    site.send(method, path, json, fields: [("X-API-Key", key)])
  }

  func register(_ token: String = token) -> Answer {
    send("POST", "/register", #"{"user_id":"\#(user)","device_token":"\#(token)"}"#)
  }

  func unregister(_ token: String = token) -> Answer {
    send("DELETE", "/register", #"{"device_token":"\#(token)"}"#)
  }
}

extension TestApplication {
  static let masterKey = "test-master-key-123"

  func generateKey(_ json: String, address: String = "192.0.2.1") -> Answer {
    send("POST", "/generate-api-key", json, address: address)
  }

  func phone(of user: Int = 1_783_478, description: String = "phone") throws -> TurnsPhone {
    let answer = generateKey(
      #"{"user_id":"\#(user)","master_key":"\#(Self.masterKey)","description":"\#(description)"}"#)
    return TurnsPhone(site: self, user: user, key: try #require(answer.string("api_key")))
  }
}
