import HTTP
import MariaDB
import Store
import Support
import Synchronization
import Testing

@testable import API

/// Reads of preferences that are answered together.
@Suite struct GroupedReadTests {
  private func read(
    _ token: String?, id: String, credential: String? = nil, method: String = "GET",
    proof: [(name: String, value: String)] = []
  ) -> Request {
    let fields =
      (token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? [])
      + (credential.map { [(name: "X-Device-Credential", value: $0)] } ?? []) + proof
    return Request(
      method: method, path: "/api/v1/device-prefs", fields: fields, remoteAddress: "192.0.2.1",
      requestID: id)
  }

  private func text(_ response: Response) -> String {
    let fields = response.fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
    return "\(response.status)\n\(fields)\n\(String(decoding: response.body, as: UTF8.self))"
  }

  @Test func eachAnswerIsThatOfARequestAlone() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      let eve = try site.signUp(email: "eve@example.org", device: "device-3")
      site.post(#"{"push_enabled":true,"archive_cache_quota_mb":1024}"#, by: ann)
      #expect(
        site.send("POST", "/api/mobile/auth/logout", token: eve.accessToken).status == 200)
      let requests = [
        read(ann.accessToken, id: "1"), read(nil, id: "2"), read(eve.accessToken, id: "3"),
        read(bob.accessToken, id: "4", credential: "wrong"), read(bob.accessToken, id: "5"),
        read("forged", id: "6"), read(ann.accessToken, id: "7"),
        read(ann.accessToken, id: "8", method: "HEAD"),
      ]
      #expect(Set(requests.map(site.application.group(of:))) == ["getPreferences"])
      let together = site.application.respond(toGroup: requests)
      #expect(together.map(\.status) == [200, 401, 401, 401, 200, 401, 200, 200])
      for (request, response) in zip(requests, together) {
        #expect(text(response) == text(site.application.checkedResponse(to: request)))
      }
      let refused = "audit_log WHERE event = 'credential_refused' AND request_id = '4'"
      #expect(site.count(refused) == 2)
    }
  }

  @Test func aGroupMayHave32Devices() throws {
    try withApplication { site in
      let people = try (1...32).map {
        site.sql("DELETE FROM rate_limits")
        return try site.signUp(email: "person-\($0)@example.org", device: "device-\($0)")
      }
      for (index, who) in people.enumerated() {
        site.post(#"{"archive_cache_quota_mb":\#(200 + index)}"#, by: who)
      }
      let requests = people.map { read($0.accessToken, id: $0.email) }
      let answers = site.application.respond(toGroup: requests).map(Answer.init)
      #expect(answers.map(\.quota) == (200..<232).map { $0 })
      #expect(answers.map { $0.string("user_id") } == people.map(\.accountID))
    }
  }

  @Test func aTokenOfADeadBranchIsRefusedAndEndsItsSessionAlone() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      let dead = site.refresh(ann.refreshToken)
      #expect(site.refresh(ann.refreshToken, address: "203.0.113.9").status == 200)
      let requests = [read(dead.accessToken, id: "1"), read(bob.accessToken, id: "2")]
      #expect(site.application.respond(toGroup: requests).map(\.status) == [401, 200])
      #expect(site.sql("SELECT end_reason FROM sessions ORDER BY created_at, id") == "reuse\nNULL")
    }
  }

  @Test func theFirstUseOfATokenConfirmsIt() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      site.sql("UPDATE sessions SET confirmed = FALSE")
      let requests = [read(ann.accessToken, id: "1"), read(bob.accessToken, id: "2")]
      #expect(site.application.respond(toGroup: requests).map(\.status) == [200, 200])
      #expect(site.count("sessions WHERE confirmed") == 2)
    }
  }

  @Test func aTokenThatCannotBeConfirmedFailsAlone() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      #expect(site.preferences(of: bob).status == 200)
      site.sql(
        """
        UPDATE sessions SET confirmed = FALSE ORDER BY created_at LIMIT 1;
        CREATE TRIGGER refused BEFORE UPDATE ON sessions FOR EACH ROW SIGNAL SQLSTATE '45000'
        """)
      let requests = [read(ann.accessToken, id: "1"), read(bob.accessToken, id: "2")]
      #expect(site.application.respond(toGroup: requests).map(\.status) == [500, 200])
    }
  }

  @Test func onlyWholeReadsOfPreferencesAreGrouped() throws {
    try withApplication { site in
      let requests = [
        Request(method: "POST", path: "/api/v1/device-prefs"),
        Request(method: "PUT", path: "/api/v1/device-prefs"),
        Request(path: "/api/v1/device-prefs", defect: .bodyIncomplete),
        Request(path: "/health"), Request(path: "/unknown"),
      ]
      #expect(requests.allSatisfy { site.application.group(of: $0) == nil })
    }
  }

  @Test func withoutADatabaseEachIsToldToComeBack() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let signedIn = (1...3).map { read(ann.accessToken, id: "\($0)") }
      let cutOff = Application.ofTests(
        Database(
          ConnectionSettings(socket: "/nonexistent", database: "x", user: "x"),
          mailKeys: API.Settings.ofTests().mailKeys, beginWaiting: { false }),
        log: Evidence.log(of: "x"), clock: site.clock.read)
      let answers = cutOff.respond(toGroup: [read("forged", id: "0")] + signedIn).map(Answer.init)
      // The first needs no database, alone or in a group.
      #expect(answers.map(\.status) == [401, 503, 503, 503])
      #expect(answers.dropFirst().allSatisfy { $0.field("Retry-After") != nil })
    }
  }

  /// The key of a proof is looked up for each request alone.
  @Test func oneOfAGroupWaitsForTheDatabase() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let proof = [
        ("X-iOS-App-Attest-Key", "a2V5"), ("X-iOS-App-Attest-Assertion", "omlzaWduYXR1cmU="),
        ("X-Request-Challenge", "YWJj"),
      ]
      let waits = Atomic(0)
      let cutOff = Application.ofTests(
        Database(
          ConnectionSettings(socket: "/nonexistent", database: "x", user: "x"),
          mailKeys: API.Settings.ofTests().mailKeys,
          beginWaiting: {
            waits.add(1, ordering: .relaxed)
            return false
          }), settings: .ofTests(attestation: .ofTests()), log: Evidence.log(of: "x"),
        clock: site.clock.read)
      let requests = (1...4).map { read(ann.accessToken, id: "\($0)", proof: proof) }
      let answers = cutOff.respond(toGroup: requests)
      #expect(answers.map(\.status) == [503, 503, 503, 503])
      #expect(waits.load(ordering: .relaxed) == 1)
    }
  }
}
