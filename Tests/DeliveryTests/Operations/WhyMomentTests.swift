import Administration
import Base
import Store
import Support
import Testing

/// Explanations at one moment, and of several tokens, games and users: what is left out, and what is said once.
@Suite struct WhyMomentTests {
  private static let moment = Timestamp(seconds: 1_795_003_200)
  private static let now = "'2026-11-18 12:00:00.000'"
  private static let later = "'2026-11-18 12:00:00.001'"

  private func explain(_ question: String, in delivery: TestDelivery) throws -> Explanation? {
    let records = delivery.companionDatabase.records(at: Self.moment, from: .administrator)
    return try SilenceReport(records: records).explain(question)
  }

  /// The codes of the statements but those about the companion, which only tests of a fixed clock could tell.
  private func codes(_ explanation: Explanation?) -> [String] {
    (explanation?.statements ?? []).map(\.code.description).filter {
      !$0.hasPrefix("companion_")
    }
  }

  private func sentences(_ code: String, of explanation: Explanation?) -> [String] {
    (explanation?.statements ?? []).filter { $0.code.description == code }.map(\.sentence)
  }

  private static func token(_ letters: String) -> String {
    "RPAD('\(letters)', 64, '0')"
  }

  /// A user with one device and no game, whose poll is due in a year.
  private static let user = """
    SET time_zone = '+00:00';
    INSERT INTO ogs_users (id, due_at, checked_at) VALUES (7, NOW(3) + INTERVAL 1 YEAR, '2026-11-01');
    INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at) VALUES (7, \(token("aaaaaaaa")), '2026-11-01');
    """

  private static func notification(
    expires: String = later, due: String = now, _ columns: String, _ values: String
  ) -> String {
    user + """
      INSERT INTO notifications (id, kind, event_key, collapse_id, created_at, expires_at)
        VALUES ('00000000-0000-4000-8000-000000000001', 'turn', 'turn 7 1', 'c', '2026-11-01', \(expires));
      INSERT INTO deliveries (id, notification_id, token, shard, due_at, \(columns))
        VALUES (UUID(), '00000000-0000-4000-8000-000000000001', \(token("aaaaaaaa")), 1, \(due), \(values));
      """
  }

  /// The rows, the code of the sentence, and words of it.
  @Test(arguments: [
    (notification("state", "'open'"), "waiting", "waits to be sent since 2026-11-18T12:00:00Z"),
    (notification(due: later, "state", "'open'"), "quiet_hours", "on 2026-11-18T12:00:00Z"),
    (
      notification(expires: now, "state", "'open'"), "expired",
      "has expired on 2026-11-18T12:00:00Z"
    ),
    (notification("attempts, reason", "1, 'no answer'"), "no_answer", "was tried once, and"),
    (notification("attempts, reason", "2, 'no answer'"), "no_answer", "was tried 2 times, and"),
    (
      notification("state, finished_at", "'dead', '2026-11-02'"), "given_up",
      "on 2026-11-02T00:00:00Z: no reason is kept."
    ),
    (
      notification("status, reason", "500, 'Other'"), "refused_for_now",
      "500 Other. Apple has a temporary problem."
    ),
  ])
  func anOpenNotificationIsExplained(rows: String, code: String, words: String) throws {
    try withDelivery { delivery throws in
      delivery.sql(rows)
      let said = sentences(code, of: try explain("7", in: delivery))
      #expect(said.count == 1)
      #expect(said.first?.contains(words) == true, "\(said)")
    }
  }

  @Test(arguments: [
    ("failures = 1, failure = 'HTTP 502'", "The last poll of user 7 failed: HTTP 502."),
    ("failures = 2, failure = NULL", "The last 2 polls of user 7 failed: no reason is kept."),
  ])
  func failedPollsAreCounted(change: String, words: String) throws {
    try withDelivery { delivery throws in
      delivery.sql(Self.user + "UPDATE ogs_users SET checked_at = NULL, \(change)")
      let explanation = try explain("7", in: delivery)
      #expect(sentences("poll_failing", of: explanation).first?.hasPrefix(words) == true)
      #expect(codes(explanation) == ["user", "registration", "poll_failing", "no_notification"])
    }
  }

  /// Without a poll nobody knows whose turn it is.
  @Test func aUserWhoWasNeverPolledHasOnlyThatCause() throws {
    try withDelivery { delivery throws in
      delivery.sql(Self.user + "UPDATE ogs_users SET checked_at = NULL")
      let explanation = try explain("7", in: delivery)
      #expect(codes(explanation) == ["user", "registration", "never_polled", "no_notification"])
      #expect(
        sentences("user", of: explanation) == [
          "User 7 of online-go.com has 1 device and 0 active games."
        ])
    }
  }

  /// Eleven turns, of which the tenth was told; two games in which it is the other's turn; one game.
  @Test func tenTurnsAreExplained() throws {
    let games = """
      INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running)
        SELECT 7, 100 + seq, seq, 'Game', 1000, 7, TRUE FROM seq_1_to_11;
      """
    try withDelivery { delivery throws in
      delivery.sql(Self.user + games)
      #expect(sentences("turn_not_told", of: try explain("7", in: delivery)).count == 10)
      delivery.sql(
        "UPDATE ogs_games SET current_player = 9; DELETE FROM ogs_games WHERE game_id > 102")
      let two = sentences("not_their_turn", of: try explain("7", in: delivery))
      #expect(
        two == [
          "As the last poll saw it, it is the turn of user 7 in none of the games, so no notification is due."
        ])
      delivery.sql("DELETE FROM ogs_games WHERE game_id > 101")
      let one = sentences("not_their_turn", of: try explain("7", in: delivery))
      #expect(one.first?.contains("in game 101, or the game is over") == true, "\(one)")
    }
  }

  /// By the user's quiet hours alone, and by the kinds of notifications alone.
  @Test(arguments: [
    ("0, 1439, 'turn'", ["turn_unwanted"]), ("NULL, NULL, 'clock'", ["turn_unwanted"]),
    ("NULL, NULL, 'turn'", ["turn_not_told"]), ("780, 840, 'turn'", ["turn_not_told"]),
  ])
  func aTurnIsUnwantedByHoursOrKind(settings: String, expected: [String]) throws {
    try withDelivery { delivery throws in
      delivery.sql(
        Self.user + """
          INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running)
            VALUES (7, 101, 0, 'Game', 1000, 7, TRUE);
          INSERT INTO turn_settings (ogs_user_id, quiet_from, quiet_to, kinds, changed_at)
            VALUES (7, \(settings), '2026-11-01');
          """)
      #expect(codes(try explain("7", in: delivery)).filter { $0.hasPrefix("turn_") } == expected)
    }
  }

  /// Another device of the user, another user of the game.
  @Test func aTokenIsExplainedWithoutTheUsersOtherDevices() throws {
    try withDelivery { delivery throws in
      delivery.sql(
        Self.notification("state, finished_at, status", "'delivered', '2026-11-02', 200") + """
          INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
            VALUES (7, \(Self.token("bbbbbbbb")), '2026-11-01');
          INSERT INTO deliveries (id, notification_id, token, shard, state, finished_at, status)
            VALUES (UUID(), '00000000-0000-4000-8000-000000000001', \(Self.token("bbbbbbbb")), 1, 'delivered', '2026-11-02', 200);
          """)
      for (letters, other) in [("aaaaaaaa", "bbbbbbbb"), ("bbbbbbbb", "aaaaaaaa")] {
        let explanation = try #require(try explain(letters, in: delivery))
        #expect(codes(explanation).filter { $0 == "registration" || $0 == "delivered" }.count == 2)
        #expect(!explanation.text.contains(other))
      }
      #expect(sentences("registration", of: try explain("7", in: delivery)).count == 2)
      #expect(sentences("delivered", of: try explain("7", in: delivery)).count == 2)
    }
  }

  /// What concerns both players of a game is said once.
  @Test func thePauseOfAllPollsIsSaidOnce() throws {
    try withDelivery { delivery throws in
      delivery.sql(
        Self.user + """
          INSERT INTO ogs_users (id, due_at, checked_at) VALUES (8, NOW(3) + INTERVAL 1 YEAR, '2026-11-01');
          INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running)
            VALUES (7, 101, 0, 'Game', 1000, 7, TRUE), (8, 101, 0, 'Game', 1000, 7, TRUE);
          UPDATE ogs_pause SET paused_until = NOW(3) + INTERVAL 1 YEAR;
          """)
      let explanation = try explain("101", in: delivery)
      #expect(sentences("polls_paused", of: explanation).count == 1)
      #expect(sentences("polled", of: explanation).count == 2)
    }
  }

  /// Ten tokens of users, and one token of ten users; eleven are too many.
  @Test(arguments: [(10, 1, true), (11, 1, false), (1, 10, true), (1, 11, false)])
  func atMostTenTokensAndUsersAreExplained(tokens: Int, users: Int, isExplained: Bool) throws {
    try withDelivery { delivery throws in
      delivery.sql(
        """
        SET time_zone = '+00:00';
        INSERT INTO ogs_users (id, due_at, checked_at)
          SELECT 200 + seq, NOW(3) + INTERVAL 1 YEAR, '2026-11-01' FROM seq_1_to_\(max(tokens, users));
        INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
          SELECT 200 + seq, IF(\(tokens) = 1, \(Self.token("cccccccc")), RPAD(CONCAT('cccccccc', LPAD(seq, 2, '0')), 64, 'd')), '2026-11-01'
          FROM seq_1_to_\(max(tokens, users));
        """)
      guard isExplained else {
        #expect(throws: BadArguments.self) { try explain("cccccccc", in: delivery) }
        return
      }
      #expect(sentences("user", of: try explain("cccccccc", in: delivery)).count == 10)
    }
  }

  /// Ann's devices: a revoked one alone; then one with the token `a…`, and one with `b…`, each with a mail's notification. Another
  /// token begins with all of `a…`.
  @Test func anAccountsTokensAreExplainedApart() throws {
    try withDelivery { delivery throws in
      delivery.sql(
        """
        SET time_zone = '+00:00';
        INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at, revoked_at)
          SELECT UUID(), id, 'p0', 'D', 'ios', '2026-11-01', '2026-11-01', '2026-11-02' FROM accounts;
        """)
      #expect(
        codes(try explain("ann@example.org", in: delivery)) == [
          "account", "no_device", "no_notification",
        ])
      delivery.sql(
        """
        SET time_zone = '+00:00'; SET @mail = UUID(), @notice = UUID();
        INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
          SELECT UUID(), id, n.name, 'D', 'ios', '2026-11-01', '2026-11-01' FROM accounts JOIN (SELECT 'p1' AS name UNION SELECT 'p2') n;
        INSERT INTO push_tokens (token, device_id, platform, registered_at)
          SELECT IF(client_device_id = 'p1', \(Self.token("aaaaaaaa")), \(Self.token("bbbbbbbb"))), id, 'ios', '2026-11-01' FROM devices
          WHERE revoked_at IS NULL;
        INSERT INTO outbox (id, kind, recipient, expires_at, request_id, account_id)
          SELECT @mail, 'new_device', email, NOW(3), 'r', id FROM accounts;
        INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at)
          VALUES (@notice, 'account', CONCAT('mail ', @mail), 'c', \(Self.later));
        INSERT INTO deliveries (id, notification_id, token, shard, state, finished_at, status)
          SELECT UUID(), @notice, token, 1, 'delivered', '2026-11-02', 200 FROM push_tokens;
        INSERT INTO ogs_users (id) VALUES (7);
        INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
          VALUES (7, CONCAT(\(Self.token("aaaaaaaa")), 'ff'), '2026-11-01');
        """)
      let both = try explain("ann@example.org", in: delivery)
      #expect(sentences("token", of: both).count == 2)
      #expect(sentences("delivered", of: both).count == 2)
      #expect(sentences("also_turns", of: both) == [])
      let one = try #require(try explain("bbbbbbbb", in: delivery))
      #expect(sentences("token", of: one).count == 1)
      #expect(sentences("delivered", of: one).count == 1)
      #expect(!one.text.contains("aaaaaaaa"))
    }
  }

  /// A token of Android is found by its first 20 characters, and Apple's missing settings do not concern it.
  @Test func aTokenOfAndroidHasNoCauseOfApple() throws {
    let token = "dA1b2C3d4E5f6G7h8I9j:APA91b"
    try withDelivery { delivery throws in
      delivery.sql(
        """
        SET time_zone = '+00:00';
        INSERT INTO companion_status (host, version, last_pass_at, missing) VALUES ('h', '1', NOW(3), 'APNS_KEY_ID');
        INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
          SELECT UUID(), id, 'p1', 'D', 'android', '2026-11-01', '2026-11-01' FROM accounts;
        INSERT INTO push_tokens (token, device_id, platform, registered_at)
          SELECT '\(token)', id, 'android', '2026-11-01' FROM devices;
        """)
      let explanation = try #require(try explain(String(token.prefix(20)), in: delivery))
      #expect(codes(explanation).contains("token"))
      #expect(codes(explanation).filter { $0.hasPrefix("apns") } == [])
      #expect(throws: BadArguments.self) { try explain(String(token.prefix(19)), in: delivery) }
    }
  }
}
