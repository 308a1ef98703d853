import Base
import Foundation
import Support
import Synchronization
import Testing

/// The site under load while its parts end. `SWITCHBOARD_ROUNDS` sets the number of rounds.
@Suite(.serialized) struct FaultTests {
  @Test func whileMariaDBDiesUnderLoadAnswersAreRightOr503() async throws {
    try await withSite { site in
      let person = try site.signUp()
      let read = { site.curl("/api/v1/device-prefs", "--header", person.bearer) }
      // The write that the load repeats: it changes nothing more.
      let write = #"{"push_enabled":true,"if_version":0}"#
      #expect(site.post("/api/v1/device-prefs", write, person.bearer).status == 200)
      let right = read()
      try #require(right.status == 200)
      let statuses = try site.underLoad(by: person) {
        for _ in 1...rounds(default: 5) {
          guard let server = site.pid(of: "mariadb") else { continue }
          kill(server, SIGKILL)
          for _ in 1...20 {
            let answer = read()
            #expect(answer.status == 503 || answer.body == right.body, "\(answer.body)")
          }
          wait(for: "another MariaDB and a healthy site") {
            site.pid(of: "mariadb") != server && site.curl("/health").status == 200
          }
        }
      }
      #expect(statuses.keys.allSatisfy { [200, 503].contains($0) }, "\(statuses)")
      #expect(statuses[200, default: 0] > 100)
    }
  }

  @Test func noAcknowledgedWriteIsLostWhenMariaDBDies() async throws {
    try await withSite { site in
      let person = try site.signUp()
      var acknowledged = 0
      func storedVersion() throws -> Int {
        try #require(Int(try site.sql("SELECT version FROM device_preferences").trimmed))
      }
      let write = {
        let answer = site.post("/api/v1/device-prefs", #"{"push_enabled":true}"#, person.bearer)
        #expect([200, 503].contains(answer.status), "\(answer.body)")
        if answer.status == 200 {
          let version = answer.body.firstMatch(of: /"version":(\d+)/)
          acknowledged = version.flatMap { Int($0.1) } ?? .max
        }
        return answer.status == 200
      }
      for _ in 1...rounds(default: 10) {
        wait(for: "a write that succeeds") { write() }
        _ = try site.sql("DELETE FROM rate_limits")
        let server = try #require(site.pid(of: "mariadb"))
        let killer = Thread {
          usleep(.random(in: 0..<50_000))
          kill(server, SIGKILL)
        }
        killer.start()
        while !killer.isFinished { _ = write() }
        wait(for: "another MariaDB that answers") {
          site.pid(of: "mariadb") != server && (try? site.sql("SELECT 1")) != nil
        }
        // Before the next write, which may commit without an answer and hide a lost one.
        #expect(try storedVersion() >= acknowledged)
      }
      wait(for: "a write that succeeds") { write() }
      #expect(try storedVersion() >= acknowledged)
    }
  }

  @Test func noRequestFailsWhenTheResponderIsRestartedTwentyTimes() async throws {
    try await withSite { site in
      let person = try site.signUp()
      let statuses = try site.underLoad(by: person) {
        for _ in 1...rounds(default: 20) {
          site.restart("responder")
        }
      }
      #expect(statuses.keys.allSatisfy { $0 == 200 }, "\(statuses)")
      #expect(statuses[200, default: 0] > 100)
    }
  }

  @Test func whileMariaDBIsReadOnlyWritesAre503() async throws {
    try await withSite { site in
      let person = try site.signUp()
      _ = try site.sql("SET GLOBAL read_only = 1")
      let answer = site.post("/api/v1/device-prefs", #"{"push_enabled":true}"#, person.bearer)
      #expect(answer.status == 503)
      #expect(answer.fields["retry-after"] != nil)
      _ = try site.sql("SET GLOBAL read_only = 0")
      #expect(
        site.post("/api/v1/device-prefs", #"{"push_enabled":true}"#, person.bearer).status == 200)
    }
  }

  /// The requests outnumber the workers. The later requests must not wait once more for the
  /// database.
  @Test func whileMariaDBIsFrozenRequestsAre503() async throws {
    try await withSite { site in
      let person = try site.signUp()
      let server = try #require(site.pid(of: "mariadb"))
      freeze(server)
      defer { kill(server, SIGCONT) }
      let answers = inParallel(16) { _ in
        site.curl("/api/v1/device-prefs", "--header", person.bearer).status
      }
      #expect(answers.allSatisfy { $0 == 503 }, "\(answers)")
      kill(server, SIGCONT)
      wait(for: "preferences of the thawed database") {
        site.curl("/api/v1/device-prefs", "--header", person.bearer).status == 200
      }
    }
  }
}
