import Foundation
import Support
import Synchronization
import Testing

/// The start, supervision and stop of a site with a separate responder by `nginx/run`.
@Suite(.serialized, .enabled(if: WebServer.ofTests.hasResponder)) struct LifeTests {
  @Test func startingTwiceIsStartingOnce() async throws {
    try await withSite { site in
      let responder = site.pid(of: "responder")
      let again = site.start()
      #expect(again.status == 0)
      #expect(again.output.hasSuffix("ready http://localhost:\(site.port)\n"))
      #expect(site.pid(of: "responder") == responder)
      let elsewhere = site.start(port: site.port ^ 1)
      #expect(elsewhere.status == 1)
      #expect(elsewhere.output.contains("already runs, on port \(site.port)"))
    }
  }

  @Test func stoppingAndStartingKeepsDataAndSecrets() async throws {
    try await withSite { site in
      _ = try site.sql("CREATE TABLE kept (word VARCHAR(10)); INSERT INTO kept VALUES ('kept')")
      let key = try Data(contentsOf: URL(filePath: site.state + "/secrets/jwt-keys"))
      let pids = ["web", "companion", "responder", "mariadb"].map { site.pid(of: $0) }
      #expect(!pids.contains(nil))
      #expect(site.stop().status == 0)
      for pid in pids.compactMap({ $0 }) {
        wait(for: "the end of process \(pid)") { kill(pid, 0) != 0 }
      }
      #expect(site.curl("/health").status == 0)
      #expect(site.stop().status == 0)
      #expect(site.start().status == 0)
      #expect(try site.sql("SELECT word FROM kept") == "kept\n")
      #expect(try Data(contentsOf: URL(filePath: site.state + "/secrets/jwt-keys")) == key)
    }
  }

  @Test(arguments: ["responder", "companion", "mariadb"])
  func aKilledProgramComesBack(_ program: String) async throws {
    try await withSite { site in
      let killed = try #require(site.pid(of: program))
      kill(killed, SIGKILL)
      wait(for: "another process of \(program)") { site.pid(of: program) != killed }
      wait(for: "a healthy site") { site.curl("/health").status == 200 }
    }
  }

  @Test func aRestartOfTheResponderCutsNoRequest() async throws {
    try await withSite { site in
      let restarted = Atomic(false)
      let statuses = Mutex<[String: Set<Int>]>([:])
      let threads = [("/health", []), ("/nothing", ["--data", "{}"])].map { path, options in
        Thread {
          while !restarted.load(ordering: .relaxed) {
            let seen = site.statuses(of: 300, path, options)
            statuses.withLock { $0[path, default: []].formUnion(seen) }
          }
        }
      }
      for thread in threads { thread.start() }
      defer { restarted.store(true, ordering: .relaxed) }
      wait(for: "two answers") { statuses.withLock { $0.count } == 2 }
      for _ in 1...5 {
        let pid = try #require(site.pid(of: "responder"))
        kill(pid, SIGTERM)
        wait(for: "another responder") { site.pid(of: "responder").map { $0 != pid } ?? false }
      }
      restarted.store(true, ordering: .relaxed)
      wait(for: "the end of the clients") { threads.allSatisfy(\.isFinished) }
      #expect(statuses.withLock { $0 } == ["/health": [200], "/nothing": [404]])
    }
  }

  @Test func aStartClearsUpWhatACrashLeftBehind() async throws {
    try await withSite { site in
      for program in ["web", "companion", "responder", "mariadb"] {
        kill(try #require(site.keeper(of: program)), SIGKILL)
      }
      let orphan = try #require(site.pid(of: "mariadb"))
      #expect(kill(orphan, 0) == 0)
      let again = site.start()
      #expect(again.status == 0, "\(again.output)")
      wait(for: "the end of process \(orphan)") { kill(orphan, 0) != 0 }
      #expect(site.curl("/health").status == 200)
    }
  }

  @Test func aPortInUseIsNamed() async throws {
    try await withSite { site in
      #expect(site.stop().status == 0)
      try await withSite { other in
        let refused = site.start(port: other.port)
        #expect(refused.status == 1)
        #expect(refused.output.contains("port \(other.port) of 127.0.0.1 is in use"))
        #expect(other.curl("/health").status == 200)
      }
    }
  }

  @Test func noProgramSeesTheOthersSecrets() async throws {
    let secrets = [
      "responder": [
        "SWITCHBOARD_JWT_KEYS_FILE", "SWITCHBOARD_HMAC_KEYS_FILE", "MASTER_API_KEY_FILE",
        "SWITCHBOARD_CREDENTIAL_KEYS_FILE", "SWITCHBOARD_COMPANION_PUBLIC_KEYS_FILE",
        "SWITCHBOARD_PAYMENT_KEYS_FILE",
      ],
      "companion": [
        "SWITCHBOARD_COMPANION_KEYS_FILE", "SWITCHBOARD_MAIL_DIRECTORY", "APNS_PRIVATE_KEY",
      ],
    ]
    // This key was made for the test and opens nothing.
    let key =
      #"-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8dqzcCXUpe7eivW2\n"#
      + #"cOgWGiqB/J/x9ZS/lx34czoiNnmhRANCAASyAEEVZPhHVWyRNYawaufsGrwDaUC2\n"#
      + #"G6uBqCqWbxv+W+Bguair2CFoydJ+pGqnCPz2zIsQduXecFYxHIUlwmHn\n-----END PRIVATE KEY-----\n"#
    try await withSite(environment: ["APNS_PRIVATE_KEY": key]) { site in
      for (program, names) in secrets {
        let pid = try #require(site.pid(of: program))
        let block = try Data(contentsOf: URL(filePath: "/proc/\(pid)/environ"))
        let seen = block.split(separator: 0).map {
          String(decoding: $0.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
        }
        #expect(seen.contains("SWITCHBOARD_DB_PASSWORD_FILE"))
        for (owner, names) in secrets where owner != program {
          #expect(Set(seen).isDisjoint(with: names), "\(program) sees what is the \(owner)'s")
        }
        #expect(Set(seen).isSuperset(of: names), "\(program)")
      }
    }
  }
}
