import Administration
import Foundation
import Store
import Support
import Testing

/// Reasons for a silent phone: each sentence with its question.
@Suite struct WhyTests {
  /// A site without problems: Ann's phone has the token `a…`, and user 7 has the token `b…` and a
  /// turn in game 77. Both got a notification, and Apple accepted both.
  static let arrangement = """
    SET time_zone = '+00:00';
    INSERT INTO companion_status (host, version, last_pass_at) VALUES ('host', '1', NOW(3));
    SET @device = UUID(), @mail = UUID(), @turn = UUID(), @notice = UUID();
    INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
      SELECT @device, id, 'd', 'D', 'ios', NOW(3), NOW(3) FROM accounts;
    INSERT INTO device_preferences (device_id, last_updated_at, version, push_enabled)
      VALUES (@device, NOW(3), 1, TRUE);
    INSERT INTO push_tokens (token, device_id, platform, registered_at)
      VALUES (REPEAT('a', 64), @device, 'ios', NOW(3));
    INSERT INTO outbox (id, kind, recipient, state, finished_at, expires_at, request_id, account_id)
      SELECT @mail, 'new_device', email, 'delivered', NOW(3), NOW(3), 'r', id FROM accounts;
    INSERT INTO ogs_users (id, due_at, checked_at, active_games)
      VALUES (7, NOW(3) + INTERVAL 30 SECOND, NOW(3), 1);
    INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at, last_notified_at)
      VALUES (7, REPEAT('b', 64), NOW(3), NOW(3));
    INSERT INTO ogs_games (ogs_user_id, game_id, position, name, last_move, current_player, is_running, notified_move)
      VALUES (7, 77, 0, 'Game', 1000, 7, TRUE, 1000);
    INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at)
      VALUES (@turn, 'turn', 'turn 7 1 ab', 'c', NOW(3) + INTERVAL 1 DAY),
        (@notice, 'account', CONCAT('mail ', @mail), 'c', NOW(3) + INTERVAL 1 DAY);
    INSERT INTO deliveries (id, notification_id, token, shard, state, attempts, status, finished_at)
      VALUES (UUID(), @turn, REPEAT('b', 64), 1, 'delivered', 1, 200, NOW(3)),
        (UUID(), @notice, REPEAT('a', 64), 1, 'delivered', 1, 200, NOW(3));
    """

  struct Case: Sendable, CustomTestStringConvertible {
    let code: String
    let question: String
    /// The SQL that causes the sentence.
    let change: String
    /// Words of the sentence.
    let words: String
    let isCause: Bool

    init(
      _ code: String, _ question: String, after change: String = "", _ words: String,
      isCause: Bool = true
    ) {
      self.code = code
      self.question = question
      self.change = change
      self.words = words
      self.isCause = isCause
    }

    var testDescription: String { "\(code) of \(question)" }
  }

  static let (ann, phone, turnPhone) = ("ann@example.org", "aaaaaaaa", "bbbbbbbb")

  private static func limit(_ name: String, _ subject: String) -> String {
    """
    INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
    VALUES ('\(name)', \(subject), NOW(3), 3600, 9, 9)
    """
  }

  private static func problem(_ name: String, _ reason: String) -> String {
    """
    INSERT INTO problems (host, name, reason, since, seen_at)
    VALUES ('h', '\(name)', '\(reason)', NOW(3), NOW(3)), ('h', 'mail', 'Mails fail.', NOW(3), NOW(3))
    """
  }

  static let cases: [Case] = ofEverybody + ofAccounts + ofTurns + ofDeliveries

  private static let ofEverybody = [
    Case(
      "companion_never_ran", ann, after: "DELETE FROM companion_status", "No companion has ever"),
    Case(
      "companion_overdue", "7",
      after: "UPDATE companion_status SET last_pass_at = NOW(3) - INTERVAL 3 HOUR", "3 hours ago"),
    Case(
      "apns_not_configured", phone,
      after: "UPDATE companion_status SET missing = 'APNS_KEY_ID APNS_TEAM_ID'",
      "set APNS_KEY_ID, APNS_TEAM_ID."),
    Case(
      "not_polled", "7", after: "UPDATE companion_status SET missing = 'SWITCHBOARD_ADMINISTRATOR'",
      "set SWITCHBOARD_ADMINISTRATOR"),
    Case(
      "apns_failing", phone, after: problem("apns", "Apple answers 403."),
      "Apple answers 403. Compare APNS_KEY_ID"),
    Case(
      "fcm_failing", ann,
      after: problem("fcm", "Google answers 403.")
        + "; UPDATE push_tokens SET platform = 'android'",
      "Google answers 403. Compare the service account"),
    Case(
      "webpush_failing", ann,
      after: problem("webpush", "A push service answers 403.")
        + "; UPDATE push_tokens SET platform = 'web'",
      "A push service answers 403. See that WEBPUSH_VAPID_KEY"),
    Case(
      "ogs_failing", "7", after: problem("ogs", "online-go.com does not answer polls: 503."),
      "polls: 503. See that this host reaches online-go.com."),
    Case(
      "limit_used_up", "7", after: limit("turns-register", "'7'"), "limits lift turns-register 7"),
    Case(
      "limit_used_up", ann, after: limit("push-token", "(SELECT id FROM accounts)"),
      "switchboard limits lift push-token "),
  ]

  private static let ofAccounts = [
    Case("account", ann, "The account of ann@example.org", isCause: false),
    Case("no_device", ann, after: "DELETE FROM devices", "has no device"),
    Case("no_token", ann, after: "DELETE FROM push_tokens", "None of the account's devices (1)"),
    Case("token", phone, "belongs to the device ", isCause: false),
    Case("android", ann, after: "UPDATE push_tokens SET platform = 'android'", "Android"),
    Case(
      "pushes_off", ann, after: "UPDATE device_preferences SET push_enabled = 0", "switched off"),
    Case(
      "also_turns", ann, after: "UPDATE ogs_registrations SET device_token = REPEAT('a', 64)",
      "turns of user 7", isCause: false),
    Case(
      "token_dead", "cccccccc", after: "INSERT INTO dead_tokens VALUES (REPEAT('c', 64), NOW(3))",
      "Open the app on the phone"),
    Case(
      "token_was_dead", phone, after: "INSERT INTO dead_tokens VALUES (REPEAT('a', 64), NOW(3))",
      "The app registered it on", isCause: false),
    Case("delivered", phone, "was taken by Apple on", isCause: false),
    Case("no_notification", ann, after: "DELETE FROM notifications", "is stored", isCause: false),
  ]

  private static let ofTurns = [
    Case("user", "7", "has 1 device and 1 active game.", isCause: false),
    Case("registration", turnPhone, "and was last notified on", isCause: false),
    Case(
      "registration", "7", after: "UPDATE ogs_registrations SET last_notified_at = NULL",
      "was never notified", isCause: false),
    Case(
      "no_registration", "77", after: "DELETE FROM ogs_registrations", "No device is registered"),
    Case(
      "polls_paused", "7", after: "UPDATE ogs_pause SET paused_until = NOW(3) + INTERVAL 1 MINUTE",
      "all polls are paused until"),
    Case("polled", "77", "was last asked about user 7 on", isCause: false),
    Case("never_polled", "7", after: "UPDATE ogs_users SET checked_at = NULL", "never asked"),
    Case(
      "poll_failing", "7", after: "UPDATE ogs_users SET failures = 2, failure = 'HTTP 502'",
      "The last 2 polls of user 7 failed: HTTP 502."),
    Case(
      "poll_late", "7", after: "UPDATE ogs_users SET due_at = NOW(3) - INTERVAL 6 MINUTE",
      "cannot keep up"),
    Case("not_their_turn", "77", after: "UPDATE ogs_games SET current_player = 8", "in game 77"),
    Case("not_their_turn", "7", after: "DELETE FROM ogs_games", "in none of the games"),
    Case("turn_told", "7", "since 1970-01-01T00:00:01Z", isCause: false),
    Case(
      "turn_not_told", "77", after: "UPDATE ogs_games SET notified_move = 999",
      "no notification was written"),
    Case(
      "turn_muted", "7", after: "UPDATE ogs_games SET notified_move = 999, is_silent = TRUE",
      "it is muted, or live"),
    Case(
      "turn_unwanted", "77",
      after: "UPDATE ogs_games SET notified_move = 999; "
        + "INSERT INTO turn_settings (ogs_user_id, kinds, changed_at) VALUES (7, '', NOW(3))",
      "turns are switched off"),
  ]

  private func explain(_ question: String, in delivery: TestDelivery) throws -> Explanation? {
    try SilenceReport(records: delivery.records()).explain(question)
  }

  @Test(arguments: cases)
  func isSaid(_ example: Case) throws {
    try withDelivery { delivery throws in
      delivery.sql("\(Self.arrangement)\n\(example.change)")
      let explanation = try #require(try explain(example.question, in: delivery))
      let said = explanation.statements.filter { $0.code.description == example.code }
      try #require(!said.isEmpty, "\(explanation.text)")
      #expect(said.contains { $0.sentence.contains(example.words) }, "\(said)")
      #expect(said.allSatisfy { $0.isCause == example.isCause })
      // Only the change is a cause; everything else is well.
      let causes = Set(explanation.statements.filter(\.isCause).map(\.code.description))
      #expect(causes.isSubset(of: [example.code]), "\(explanation.text)")
    }
  }

  @Test func everySentenceHasACase() throws {
    let folder = projectSchema.deletingLastPathComponent().appending(
      path: "Sources/Administration/Why")
    var codes: Set<String> = []
    for file in ["Report", "OfDevices", "OfTurns", "OfDeliveries"] {
      let source = try String(
        contentsOf: folder.appending(path: "Silence\(file).swift"), encoding: .utf8)
      for match in source.matches(of: #/\.(?:note|blame)\(\s*"(\w+)"/#) {
        codes.insert(String(match.output.1))
      }
    }
    #expect(codes == Set(Self.cases.map(\.code)))
  }

  @Test func whereAllIsWellThePhoneIsToBeLookedAt() throws {
    try withDelivery { delivery throws in
      delivery.sql(Self.arrangement)
      for question in [Self.ann, Self.phone, Self.turnPhone, "7", "77"] {
        let text = try #require(try explain(question, in: delivery)).text
        #expect(text.contains("\n\nThe server found no cause."), "\(question): \(text)")
        #expect(!text.contains("Why it did not ring"))
      }
    }
  }

  @Test func causesStandBehindWhatIsKnown() throws {
    try withDelivery { delivery throws in
      delivery.sql(Self.arrangement + Self.dead("status = 410, reason = 'Unregistered'"))
      let explanation = try #require(try explain("7", in: delivery))
      let parts = explanation.text.split(separator: "\n\nWhy it did not ring:\n")
      try #require(parts.count == 2)
      #expect(parts[1].hasPrefix("- The notification of "))
      let json = try object(of: explanation)
      #expect(json["question"] as? String == "7")
      #expect(json["conclusion"] is NSNull)
      let statements = try #require(json["statements"] as? [[String: Any]])
      #expect(statements.filter { $0["is_cause"] as? Bool == true }.count == 1)
    }
  }

  @Test func aDeadTokenHasACauseAlone() throws {
    try withDelivery { delivery throws in
      delivery.sql("INSERT INTO dead_tokens VALUES (REPEAT('c', 64), NOW(3))")
      delivery.sql(
        "INSERT INTO companion_status (host, version, last_pass_at) VALUES ('h', '1', UTC_TIMESTAMP(3))"
      )
      let text = try #require(try explain("cccccccc", in: delivery)).text
      #expect(
        text.hasPrefix(
          "Why it did not ring:\n- The push service called the token cccccccccccccccc… dead"))
    }
  }

  /// Tokens in the notations of apps and people.
  @Test(arguments: ["BBBBBBBB", "<bbbbbbbb bbbbbbbb>", String(repeating: "b", count: 64)])
  func aTokenIsFoundAsPeopleWriteIt(_ question: String) throws {
    try withDelivery { delivery throws in
      delivery.sql(Self.arrangement)
      let explanation = try #require(try explain(question, in: delivery))
      #expect(explanation.statements.contains { $0.code.description == "registration" })
    }
  }

  @Test func whatNobodyKnowsIsNotExplained() throws {
    try withDelivery { delivery throws in
      delivery.sql(Self.arrangement)
      for question in ["nobody@example.org", "8", "99999999", "cccccccc", "bbbbbbbbc"] {
        #expect(try explain(question, in: delivery) == nil, "\(question)")
      }
    }
  }

  @Test(arguments: ["", "bbbbbbb", "x", "bbbb%", "' OR 1=1", "game 77", "99999999999999999999"])
  func whatIsNoQuestionIsRefused(_ question: String) throws {
    try withDelivery { delivery throws in
      delivery.sql(Self.arrangement)
      let isNumber = question.count == 20
      if isNumber {
        #expect(try explain(question, in: delivery) == nil)
      } else {
        #expect(throws: BadArguments.self) { try explain(question, in: delivery) }
      }
    }
  }

  @Test func aPrefixOfManyTokensIsRefused() throws {
    try withDelivery { delivery throws in
      delivery.sql(
        """
        INSERT INTO ogs_users (id) SELECT seq FROM seq_1_to_11;
        INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
          SELECT seq, RPAD(CONCAT('bbbbbbbb', seq), 64, 'c'), NOW(3) FROM seq_1_to_11;
        """)
      let error = #expect(throws: BadArguments.self) { try explain("bbbbbbbb", in: delivery) }
      #expect(error?.description == "Many tokens begin with bbbbbbbb. Give more digits.")
    }
  }

  /// A number may belong to a user and to a game.
  @Test func aNumberThatIsSeveralThingsIsExplainedAsEach() throws {
    try withDelivery { delivery throws in
      delivery.sql(
        "\(Self.arrangement) INSERT INTO ogs_users (id, due_at) VALUES (77, NOW(3) + INTERVAL 1 MINUTE)"
      )
      let codes = try #require(try explain("77", in: delivery)).statements.map(\.code.description)
      #expect(codes.contains("user"))
      #expect(codes.contains("turn_told"))
    }
  }

  @Test func whatIsAskedChangesNothing() throws {
    try withDelivery { delivery throws in
      delivery.sql(Self.arrangement)
      let before = delivery.dump
      for question in [Self.ann, Self.phone, Self.turnPhone, "7", "77"] {
        _ = try explain(question, in: delivery)
      }
      #expect(delivery.dump == before)
    }
  }
}
