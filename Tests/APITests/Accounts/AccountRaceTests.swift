import Support
import Testing

@testable import API

/// Parallel requests of one account get the same answers as requests in sequence.
@Suite struct AccountRaceTests {
  enum Writer: CaseIterable {
    case push, preferences, preferencesPush, wallet
  }

  enum Ending: CaseIterable {
    case logout, logoutEverywhere, deletion
  }

  /// Writes a value that contains `number`, such as a push token of 64 characters.
  private func write(
    _ writer: Writer, _ number: Int, by person: SignedIn, in site: TestApplication
  ) -> Answer {
    let token = pushTokenText().dropLast(1) + "\(number)"
    switch writer {
    case .push:
      return site.push("register", #"{"token":"\#(token)","platform":"ios"}"#, by: person)
    case .preferences: return site.post(#"{"push_token":"\#(token)"}"#, by: person)
    case .preferencesPush: return site.register(String(token), by: person)
    case .wallet:
      return site.send(
        "POST", AccountPath.pushToken, jsonText(["pushToken": String(token)]),
        token: person.accessToken)
    }
  }

  @Test func aSessionThatEndsDuringItsRefreshStaysEnded() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let token = try #require(site.refresh(ann.refreshToken).refreshToken)
      let answer = try site.answer(
        whileCommitting: "UPDATE sessions SET ended_at = UTC_TIMESTAMP(3), end_reason = 'logout'"
      ) { site.refresh(token) }
      #expect(answer.status == 401)
      #expect(site.sql("SELECT generation FROM sessions") == "2")
    }
  }

  @Test func aPairingThatEndsDuringItsRefreshStaysEnded() throws {
    try withAgent { site in
      let first = try site.pair()
      let phone = try Paired(site.refreshPairing(first.refresh))
      let answer = try site.answer(
        whileCommitting: "UPDATE pairings SET ended_at = UTC_TIMESTAMP(3), end_reason = 'phone'"
      ) { site.refreshPairing(phone.refresh) }
      #expect(answer.status == 401)
      #expect(site.sql("SELECT generation FROM pairings") == "2")
    }
  }

  @Test(arguments: Writer.allCases, Ending.allCases)
  func noPushTokenOutlivesItsSession(writer: Writer, ending: Ending) throws {
    try withApplication { site in
      for round in 1...6 {
        let email = "ann\(round)@example.org"
        let tablet = try site.signUp(email: email, device: "tablet-\(round)")
        let phone = try site.signIn(email, device: "phone-\(round)")
        let answers = inParallel(6) { number in
          guard number == 5 else { return write(writer, number, by: phone, in: site) }
          switch ending {
          case .logout:
            return site.send("POST", AccountPath.logout, token: phone.accessToken)
          case .logoutEverywhere:
            return site.send(
              "POST", AccountPath.logout, token: tablet.accessToken, query: "revokeAll=true")
          case .deletion:
            return site.send(
              "DELETE", "\(AccountPath.devices)/\(phone.deviceID)", token: tablet.accessToken)
          }
        }
        #expect(
          answers.allSatisfy { $0.status == 200 || $0.status == 401 }, "\(answers.map(\.text))")
        #expect(site.count("push_tokens") == 0, "round \(round)")
      }
    }
  }

  @Test func aDeviceKeepsOneOfSeveralPushTokensSetAtOnce() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for _ in 1...10 {
        let answers = inParallel(4) { number in write(.wallet, number, by: ann, in: site) }
        #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.text))")
        #expect(site.count("push_tokens") == 1)
      }
    }
  }

  @Test func oneOfSeveralRevocationsAtOnceSucceeds() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try site.signIn(device: "device-2")
      let answers = inParallel(8) { _ in
        site.send("DELETE", "\(AccountPath.devices)/device-2", token: ann.accessToken).status
      }
      #expect(answers.sorted() == [200] + Array(repeating: 404, count: 7))
      #expect(site.count("audit_log WHERE event = 'device_revoked'") == 1)
    }
  }

  /// All calls get the same successor, whichever call uses up the limit. A refusal would sign the
  /// app out.
  @Test func parallelCallsShareTheLastRefreshOfTheLimit() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = site.refresh(ann.refreshToken)
      site.sql("UPDATE rate_limits SET hits = 29 WHERE name = 'refresh'")
      let current = try #require(site.refreshed(ann).refreshToken as String?)
      site.sql("UPDATE sessions SET confirmed = TRUE")
      site.sql("UPDATE rate_limits SET hits = 29 WHERE name = 'refresh'")
      let answers = inParallel(8) { _ in site.refresh(current) }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.text))")
      #expect(Set(answers.map(\.refreshToken)).count == 1)
    }
  }

  @Test func parallelCallsOfAPairedPhoneShareTheLastRefreshOfTheLimit() throws {
    try withAgent { site in
      let phone = try site.pair()
      _ = site.ask(bearer: phone.access)
      site.sql(
        """
        INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
        SELECT 'refresh', id, paired_at, 3600, 29, 30 FROM pairings
        """)
      let answers = inParallel(8) { _ in site.refreshPairing(phone.refresh) }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.text))")
      #expect(Set(answers.map { $0.string("refresh_token") }).count == 1)
    }
  }

  @Test func parallelCallsShareTheLastWriteOfTheLimit() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for _ in 1...29 { #expect(site.post(#"{"push_enabled":true}"#, by: ann).status == 200) }
      let answers = inParallel(8) { _ in
        site.post(#"{"push_enabled":false,"if_version":29}"#, by: ann)
      }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.text))")
      #expect(Set(answers.map(\.text)).count == 1)
    }
  }

  /// The device already has the new credential and shows it at its next sign-in.
  @Test func aNewRegistrationOutlivesTheAdoptionOfTheOldOne() throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      site.sql(
        """
        CREATE TRIGGER meanwhile BEFORE UPDATE ON devices FOR EACH ROW
        UPDATE device_registrations SET credential_hash = REPEAT('x', 32)
        """)
      _ = try site.signUp(credential: credential)
      #expect(
        site.sql("SELECT credential_hash FROM device_registrations")
          == String(repeating: "x", count: 32))
      #expect(site.count("devices WHERE credential_hash IS NOT NULL") == 1)
    }
  }
}
