import Base
import Cryptography
import Foundation
import HTTP
import Store
import Support
import Testing

@testable import API

/// `POST /generate-api-key`, and the rights of a key.
@Suite struct TurnsKeyTests {
  @Test func theMasterKeyIssuesAKey() throws {
    try withApplication { site throws in
      let answer = site.generateKey(
        #"{"user_id":"1783478","master_key":"test-master-key-123","description":"iOS App - iPhone 15 Pro"}"#
      )
      #expect(answer.status == 200)
      let key = try #require(answer.string("api_key"))
      #expect(key.wholeMatch(of: #/[0-9a-f]{64}/#) != nil)
      #expect(
        answer.text
          == #"{"api_key":"\#(key)","user_id":"1783478","created_at":"\#(site.now.rfc3339)","description":"iOS App - iPhone 15 Pro"}"#
      )
      #expect(
        site.sql("SELECT HEX(key_hash), key_prefix, ogs_user_id, revoked_at FROM api_keys")
          .lowercased()
          == "\(hexEncoded(sha256(key)))\t\(key.prefix(8))\t1783478\tnull")
      #expect(site.sql("SELECT detail FROM audit_log") == "\(key.prefix(8))… for OGS user 1783478")
    }
  }

  @Test(arguments: ["", #","description":"""#, #","description":"  ""#, #","description":null"#])
  func theDescriptionHasADefault(member: String) throws {
    try withApplication { site throws in
      let answer = site.generateKey(
        #"{"user_id":9007199254740993,"master_key":"test-master-key-123"\#(member)}"#)
      #expect(answer.string("description") == "iOS App API Key")
      #expect(answer.string("user_id") == "9007199254740993")
    }
  }

  private static let right = #""master_key":"test-master-key-123""#

  @Test(arguments: [
    ("", 400, "Invalid request"), ("x", 400, "Invalid request"), ("[]", 400, "Invalid request"),
    (#"{"master_key":1}"#, 400, "Invalid request"), ("{}", 401, "Invalid master key"),
    (#"{"master_key":"wrong","user_id":""}"#, 401, "Invalid master key"),
    (#"{"user_id":"7","master_key":"test-master-key-12"}"#, 401, "Invalid master key"),
    ("{\(right)}", 400, "user_id is required"),
    (#"{\#(right),"user_id":""}"#, 400, "user_id is required"),
    (#"{\#(right),"user_id":" "}"#, 400, "user_id is required"),
    (#"{\#(right),"user_id":null}"#, 400, "user_id is required"),
    (#"{\#(right),"user_id":"abc"}"#, 400, "Invalid user ID"),
    (#"{\#(right),"user_id":0}"#, 400, "Invalid user ID"),
    (#"{\#(right),"user_id":"-7"}"#, 400, "Invalid user ID"),
    (#"{\#(right),"user_id":"+7"}"#, 400, "Invalid user ID"),
    (#"{\#(right),"user_id":"9223372036854775808"}"#, 400, "Invalid user ID"),
    (#"{\#(right),"user_id":1.5}"#, 400, "Invalid request"),
    (#"{\#(right),"user_id":true}"#, 400, "Invalid request"),
    (#"{\#(right),"user_id":7,"description":"a\u0000"}"#, 400, "Invalid description"),
  ])
  func malformedRequestsAreRefusedInOrder(json: String, status: Int, text: String) throws {
    try withApplication { site throws in
      expect(site.generateKey(json), status, text)
      #expect(site.sql("SELECT COUNT(*) FROM api_keys") == "0")
    }
  }

  @Test func aNewKeyRevokesTheOneOfTheSameUserAndDescription() throws {
    try withApplication { site throws in
      let (first, other, stranger) = (
        try site.phone(), try site.phone(description: "tablet"), try site.phone(of: 42)
      )
      let second = try site.phone()
      expect(first.register(), 401, "Invalid API key")
      for phone in [second, other, stranger] { #expect(phone.register().status == 200) }
    }
  }

  @Test func aKeyThatIsRevokedDuringItsRequestRegistersNothing() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      let answer = try site.answer(
        whileCommitting: "UPDATE api_keys SET revoked_at = UTC_TIMESTAMP(3)"
      ) { phone.register() }
      expect(answer, 401, "Invalid API key")
      #expect(site.count("ogs_registrations") == 0)
    }
  }

  @Test func ofParallelKeysOneStaysValid() throws {
    try withApplication { site throws in
      try inParallel(8) { _ in _ = try site.phone() }
      #expect(site.sql("SELECT COUNT(*), COUNT(revoked_at) FROM api_keys") == "8\t7")
    }
  }

  @Test func tenWrongMasterKeysAMinuteBlockAnAddress() throws {
    try withApplication { site throws in
      for _ in 0..<20 { _ = try site.phone() }  // right keys are not counted
      let wrong = #"{"user_id":"7","master_key":"wrong"}"#
      for _ in 0..<10 { expect(site.generateKey(wrong), 401, "Invalid master key") }
      let limited = site.generateKey(wrong)
      expect(limited, 429, "Too many requests")
      #expect(limited.field("Retry-After") == "60")
      let right = #"{"user_id":"7","master_key":"test-master-key-123"}"#
      #expect(site.generateKey(right).status == 429)
      #expect(site.generateKey(#"{"master_key":"test-master-key-123"}"#).status == 429)
      #expect(site.generateKey(right, address: "192.0.2.9").status == 200)
      site.advance(by: .seconds(61))
      #expect(site.generateKey(right).status == 200)
      #expect(site.sql("SELECT COUNT(*) FROM audit_log WHERE event = 'master_key_refused'") == "10")
    }
  }

  @Test func withoutAMasterKeyNoKeyIsIssued() throws {
    try withApplication { site throws in
      let application = site.sibling(settings: .ofTests(masterKey: nil))
      let answer = application.send("POST", "/generate-api-key")
      expect(answer, 503, "API keys are not issued here: there is no master key")
    }
  }

  private static let routes = [
    ("POST", "/register"), ("DELETE", "/register"), ("GET", "/check/7"), ("GET", "/check/x"),
    ("GET", "/diagnostics/7"), ("GET", "/users-by-token/\(TurnsPhone.token)"),
  ]

  @Test(arguments: routes)
  func everyOtherRouteNeedsAKey(method: String, path: String) throws {
    try withApplication { site throws in
      expect(site.send(method, path), 401, "API key required")
      expect(site.send(method, path, fields: [("X-API-Key", " ")]), 401, "API key required")
      expect(site.send(method, path, fields: [("X-API-Key", "x")]), 401, "Invalid API key")
    }
  }

  @Test func aKeyServesItsUserOnly() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      let text = "API key does not belong to this user"
      for path in ["/check/42", "/diagnostics/42"] { expect(phone.send("GET", path), 403, text) }
      let body = #"{"user_id":42,"device_token":"\#(TurnsPhone.token)"}"#
      expect(phone.send("POST", "/register", body), 403, text)
      expect(phone.send("DELETE", "/register", body), 403, text)
      for path in ["/check/abc", "/diagnostics/0", "/check/1.5"] {
        expect(phone.send("GET", path), 400, "Invalid user ID")
      }
    }
  }
}
