import Base
import Cryptography
import Foundation
import HTTP
import Store
import Support
import Testing

@testable import API

/// The tokens of a paired phone.
struct Paired {
  let access: String
  let refresh: String

  init(_ answer: Answer) throws {
    try #require(answer.status == 200, "\(answer.text)")
    access = try #require(answer.string("access_token"))
    refresh = try #require(answer.string("refresh_token"))
  }
}

extension TestApplication {
  static let agent = GuardedAgent(publicURL: "http://127.0.0.1:8766", repo: "cdev")

  func pairInfo() -> Answer { send("GET", "/api/pair/info") }

  func pairingToken() throws -> String { try #require(pairInfo().string("token")) }

  func exchange(
    _ token: String, address: String = "192.0.2.1", userAgent: String = "cdev/1.0"
  ) -> Answer {
    send(
      "POST", "/api/auth/exchange", #"{"pairing_token":"\#(token)"}"#,
      fields: [("User-Agent", userAgent)], address: address)
  }

  func pair() throws -> Paired { try Paired(exchange(pairingToken())) }

  func refreshPairing(_ token: String, address: String = "192.0.2.1") -> Answer {
    send("POST", "/api/auth/refresh", #"{"refresh_token":"\#(token)"}"#, address: address)
  }

  func revokePairing(_ token: String) -> Answer {
    send("POST", "/api/auth/revoke", #"{"refresh_token":"\#(token)"}"#)
  }

  func replaceTokens(_ json: String = "") -> Answer { send("POST", "/api/pair/refresh", json) }

  /// The status of the answer of `/_auth` to nginx about a request for `target`.
  func ask(_ target: String = "/ws", bearer: String? = nil) -> Int {
    let fields = bearer.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
    return application.checkedResponse(
      to: Request(method: "GET", path: "/_auth", fields: fields, requestURI: target)
    ).status
  }

  /// A site with the same database and clock, but with settings for `agent`.
  func withAgent(_ agent: GuardedAgent) -> TestApplication {
    let other = TestApplication(root, settings: .ofTests(agent: agent))
    other.advance(by: now - other.now)
    return other
  }

  /// Verifies `token` and returns its content.
  func payload(_ token: String) throws -> PairingToken {
    try #require(PairingToken(token, signedWith: Self.keys))
  }
}

/// Calls `body` with a new responder that protects an agent.
func withAgent<T>(
  _ agent: GuardedAgent = TestApplication.agent, _ body: (TestApplication) throws -> T
) throws -> T {
  try withApplication(agent: agent, body)
}

/// A file of `Tests/Fixtures/pairing`.
func pairingFixture(_ name: String) throws -> NSDictionary {
  let json = try JSONSerialization.jsonObject(with: Data(try fixture("pairing/\(name)").utf8))
  return try #require(json as? NSDictionary)
}
