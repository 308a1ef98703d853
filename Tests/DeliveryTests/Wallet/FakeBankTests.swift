import Base
import Cryptography
import Foundation
import Support
import Testing

@testable import Delivery

/// The fake bank refuses what a real bank would refuse.
@Suite struct FakeBankTests {
  private let query = [
    "client_id=wsim%20%26%20co", "redirect_uri=https%3A%2F%2Fw.example%2Fcallback",
    "response_type=code", "scope=cards", "state=\(hexEncoded(randomBytes(16)))",
    "nonce=\(hexEncoded(randomBytes(16)))",
    "code_challenge=\(String(repeating: "A", count: 43))", "code_challenge_method=S256",
  ]

  @Test func malformedRequestsAreRefused() throws {
    let bank = try #require(FakeBank())
    defer { bank.end() }
    func consent(_ query: [String]) -> String? {
      bank.consent(to: "\(bank.url)/authorize?\(query.joined(separator: "&"))")
    }
    #expect(consent(query)?.hasPrefix("https://w.example/callback?code=") == true)
    for index in query.indices {
      var changed = query
      changed.remove(at: index)
      #expect(consent(changed) == nil, "without \(query[index])")
      changed = query
      changed[index] += "x"
      // Any scope and any redirect URI are valid.
      let isFree = query[index].hasPrefix("scope") || query[index].hasPrefix("redirect_uri")
      #expect((consent(changed) == nil) != isFree, "\(changed[index])")
      #expect(consent(query + [query[index]]) == nil, "twice \(query[index])")
    }
  }

  @Test(arguments: [
    ("token", "Authorization: Basic d3NpbTpzZWNyZXQ=", 401), ("token", "Accept: */*", 401),
    ("cards", "Authorization: Bearer x", 401), ("cards", "Accept: */*", 401),
    ("nothing", "Accept: */*", 404),
  ])
  func unknownClientsAreRefused(endpoint: String, field: String, status: Int) throws {
    let bank = try #require(FakeBank())
    defer { bank.end() }
    let outcome = Site.run(
      [
        "curl", "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out",
        "%{http_code}",
      ]
        + (endpoint == "token" ? ["--data", "grant_type=authorization_code&code=x"] : [])
        + ["--header", field, "\(bank.url)/\(endpoint)"])
    #expect(outcome.output == "\(status)")
  }

  @Test(
    arguments: [
      ("token status 500", .token, .status(500)),
      ("cards body {\"cards\": []}", .cards, .body(#"{"cards": []}"#)),
      ("authorize refusal access_denied", .authorize, .refusal("access_denied")),
      ("token silence", .token, .silence), ("cards large", .cards, .large),
    ] as [(String, FakeBank.Endpoint, FakeBank.Fault)])
  func aLineNamesAFault(line: String, endpoint: FakeBank.Endpoint, fault: FakeBank.Fault) throws {
    let parsed = try #require(FakeBank.Fault.parse(line))
    #expect(parsed == (endpoint, fault))
  }

  @Test(arguments: ["", "token", "token status", "token status x", "bank large", "token large x"])
  func otherLinesNameNone(line: String) {
    #expect(FakeBank.Fault.parse(line) == nil)
  }

  @Test(arguments: [
    ("https://bank.example/x", true), ("http://127.0.0.1:8/x", true), ("http://localhost/x", true),
    ("http://[::1]:8/", true), ("HTTPS://bank.example", true), ("http://bank.example", false),
    ("http://127.evil.example", false), ("http://localhost.evil.example", false), ("x", false),
    ("http://user@127.0.0.1:1/", false), ("http://127.0.0.1@evil.example/", false), ("", false),
  ])
  func secretsGoOnlyByHTTPSOrToThisMachine(url: String, isConfidential: Bool) {
    #expect((Destination(configured: url)?.isConfidential ?? false) == isConfidential)
  }
}
