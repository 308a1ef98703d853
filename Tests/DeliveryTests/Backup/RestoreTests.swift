import Base
import Cryptography
import Foundation
import MariaDB
import Store
import Support
import Testing

@testable import Delivery

/// Things that a restore closes, keeps and refuses.
@Suite(.serialized) struct RestoreTests {
  private static let id = "01890a5d-ac96-774b-bcce-b302099a8001"

  /// Open rows of every single-use kind, and rows that a restore does not change.
  private static let openRows = """
    SET time_zone = '+00:00', @soon = UTC_TIMESTAMP(3) + INTERVAL 1 DAY, @now = UTC_TIMESTAMP(3);
    UPDATE accounts SET id = '\(id)';
    INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
      VALUES ('\(id)', '\(id)', 'd', 'Phone', 'ios', @now, @now);
    INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at) VALUES ('\(id)', '\(id)', @now, @now, @soon);
    INSERT INTO login_codes (email, client_device_id, challenge_hash, code_mac, expires_at)
      VALUES ('ann@example.org', 'd', REPEAT('c', 32), REPEAT('m', 32), @soon);
    INSERT INTO phone_challenges (challenge_hash, purpose, client_device_id, asked_by, expires_at)
      VALUES (REPEAT('c', 32), 'biometric', 'd', '192.0.2.1', @soon);
    INSERT INTO passkey_challenges (challenge_hash, purpose, account_id, client_device_id, expires_at)
      VALUES (REPEAT('c', 32), 'registration', '\(id)', 'd', @soon);
    INSERT INTO address_changes (account_id, email, token_hash, expires_at)
      VALUES ('\(id)', 'new@example.org', REPEAT('t', 32), @soon);
    INSERT INTO account_visits (id, account_id, proved_at, form_hash, challenge_hash, expires_at)
      VALUES (REPEAT('v', 32), '\(id)', @now, REPEAT('f', 32), NULL, @soon),
        (REPEAT('w', 32), NULL, NULL, NULL, REPEAT('c', 32), @soon);
    INSERT INTO attestation_challenges (id, challenge_hash, bundle_id, expires_at)
      VALUES ('\(id)', REPEAT('c', 32), 'app.one', @soon);
    INSERT INTO banks (bsim_id, name) VALUES ('bank-1', 'Bank');
    INSERT INTO enrollment_states (id, state_hash, nonce_hash, verifier, account_id, session_id, bsim_id, is_mobile, expires_at)
      VALUES ('\(id)', REPEAT('s', 32), REPEAT('n', 32), 'sealed', '\(id)', '\(id)', 'bank-1', TRUE, @soon);
    INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at)
      VALUES ('\(id)', 'Shop', REPEAT('k', 32), 'msk_abcdefgh', @now);
    INSERT INTO payments (id, merchant_id, amount, currency, challenge_hash, created_at, expires_at, confirmed_at, confirmed_by)
      VALUES ('pay_aaaaaaaaaaaaaaaaaaaaaa', '\(id)', 9, 'CAD', REPEAT('c', 32), @now, @soon, NULL, NULL),
        ('pay_bbbbbbbbbbbbbbbbbbbbbb', '\(id)', 9, 'CAD', REPEAT('c', 32), @now, @soon, @now, 'passkey'),
        ('pay_cccccccccccccccccccccc', '\(id)', 9, 'CAD', REPEAT('c', 32), @now, @now - INTERVAL 1 HOUR, NULL, NULL);
    INSERT INTO pairing_tokens (nonce, issued_at, expires_at) VALUES ('nonce-nonce-0001', @now, @soon);
    UPDATE pairing_server SET current_nonce = 'nonce-nonce-0001';
    INSERT INTO pairings (id, user_agent, address, paired_at, last_used_at, rotated_at, expires_at)
      VALUES ('\(id)', 'app', '192.0.2.1', @now, @now, @now, @soon);
    INSERT INTO pairing_tickets (ticket_hash, pairing_id, expires_at) VALUES (REPEAT('t', 32), '\(id)', @soon);
    INSERT INTO jobs (id, kind, request, request_id) VALUES ('\(id)', 'turn_check', '{}', 'r');
    INSERT INTO outbox (id, kind, recipient, sealed, expires_at, request_id)
      VALUES (UUID(), 'login_code', 'r', 'box:c1.x', @soon, 'r'), (UUID(), 'address_change', 'r', 'box:c1.x', @soon, 'r'),
        (UUID(), 'new_device', 'r', 'box:c1.x', @soon, 'r');
    INSERT INTO ogs_users (id) VALUES (1);
    INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at)
      VALUES ('\(id)', 'turn', 'event', 'c', @soon);
    INSERT INTO deliveries (id, notification_id, token, shard) VALUES ('\(id)', '\(id)', 't', 1);
    """

  /// Selects one line for each open row.
  private static let open = """
    SELECT 'code' FROM login_codes WHERE spent_at IS NULL
    UNION ALL SELECT 'challenge' FROM phone_challenges WHERE spent_at IS NULL
    UNION ALL SELECT 'passkey challenge' FROM passkey_challenges WHERE spent_at IS NULL
    UNION ALL SELECT 'address' FROM address_changes WHERE expires_at > UTC_TIMESTAMP(3)
    UNION ALL SELECT 'form' FROM account_visits WHERE form_hash IS NOT NULL
    UNION ALL SELECT 'challenge of a browser' FROM account_visits WHERE challenge_hash <> REPEAT(X'00', 32)
    UNION ALL SELECT 'challenge of an app' FROM attestation_challenges WHERE spent_at IS NULL
    UNION ALL SELECT 'enrollment' FROM enrollment_states WHERE expires_at > UTC_TIMESTAMP(3)
    UNION ALL SELECT 'payment' FROM payments WHERE open_until IS NOT NULL
    UNION ALL SELECT 'pairing token' FROM pairing_tokens WHERE spent_at IS NULL AND revoked_at IS NULL
    UNION ALL SELECT 'shown token' FROM pairing_server WHERE current_nonce IS NOT NULL
    UNION ALL SELECT 'ticket' FROM pairing_tickets WHERE spent_at IS NULL
    UNION ALL SELECT 'job' FROM jobs WHERE state = 'open'
    UNION ALL SELECT kind FROM outbox WHERE state = 'open'
    UNION ALL SELECT 'session' FROM sessions WHERE ended_at IS NULL
    UNION ALL SELECT 'browser' FROM account_visits WHERE account_id IS NOT NULL AND expires_at > UTC_TIMESTAMP(3)
    UNION ALL SELECT 'phone' FROM pairings WHERE ended_at IS NULL
    UNION ALL SELECT 'confirmed payment' FROM payments WHERE confirmed_at IS NOT NULL
    UNION ALL SELECT 'delivery' FROM deliveries WHERE state = 'open'
    """

  @Test func whatIsGoodOnlyOnceIsClosedAndNothingElse() throws {
    try withBackup { backup throws in
      let delivery = backup.delivery
      delivery.sql(Self.openRows)
      #expect(delivery.sql(Self.open).split(separator: "\n").count == 22)
      #expect(backup.backUp().status == 0)
      let restored = backup.restore()
      #expect(restored.status == 0, "\(restored.output)")
      #expect(
        delivery.sql(Self.open).split(separator: "\n") == [
          "new_device", "session", "browser", "phone", "confirmed payment", "delivery",
        ])
      #expect(
        delivery.sql("SELECT CONCAT_WS(' ', event, request_id) FROM audit_trail")
          == "restored administrator")
    }
  }

  @Test func whatASealedValueHoldsOpensAgain() throws {
    try withBackup { backup throws in
      let delivery = backup.delivery
      let sealed = TestDelivery.keys.seal([1, 2, 3], authenticating: "mail \(Self.id)")
      delivery.sql(
        """
        INSERT INTO outbox (id, kind, recipient, sealed, expires_at, request_id)
        VALUES ('\(Self.id)', 'new_device', 'r', '\(sealed)', UTC_TIMESTAMP(3) + INTERVAL 1 DAY, 'r')
        """)
      #expect(backup.backUp().status == 0)
      delivery.server.run("DROP DATABASE own")
      try FileManager.default.removeItem(atPath: backup.root + "/etc")
      #expect(backup.restore().status == 0)
      let keys = CompanionKeys(try BoxKeys(parsing: backup.secret("companion-keys")))
      let text = delivery.sql("SELECT sealed FROM outbox")
      #expect(try keys.open(text, authenticating: "mail \(Self.id)") == [1, 2, 3])
    }
  }

  @Test func thePresentDatabaseAndFilesAreKeptAside() throws {
    try withBackup { backup throws in
      let delivery = backup.delivery
      #expect(backup.backUp().status == 0)
      delivery.sql("UPDATE accounts SET name = 'Later'")
      try backup.write("k2:later\n", to: "jwt-keys")
      let restored = backup.restore()
      #expect(restored.status == 0, "\(restored.output)")
      #expect(delivery.sql("SELECT name FROM accounts") == "Ann")
      #expect(try backup.secret("jwt-keys").hasPrefix("k1:"))
      let before = try #require(restored.output.firstMatch(of: /own_before_restore_\d+T\d+/)).output
      #expect(delivery.server.run("SELECT name FROM \(before).accounts") == "Later\n")
      let kept = try #require(restored.output.firstMatch(of: /\S+before-restore-\d+T\d+\.tar/))
        .output
      #expect(backup.shell("stat -c %a \(kept)") == "600\n")
      #expect(
        backup.shell("tar -xOf \(kept) etc/switchboard/secrets/jwt-keys") == "k2:later\n")
    }
  }

  /// The programs would use that database, which nobody has restored.
  @Test func settingsThatNameAnotherDatabaseAreSaid() throws {
    try withBackup { backup throws in
      try backup.write(
        "SWITCHBOARD_DB_NAME=other\nSWITCHBOARD_DB_HOST=192.0.2.10\n", to: "../environment")
      #expect(backup.backUp().status == 0)
      let name = "The restored settings name the database other, not own."
      let server = "The restored settings name the database server 192.0.2.10"
      let restored = backup.restore()
      #expect(restored.status == 0, "\(restored.output)")
      #expect(restored.output.split(separator: name).count == 3, "before and after")
      #expect(!restored.output.contains(server), "it may be the server of the options file")
      let here = runProgram(
        "env",
        ["SWITCHBOARD_DB_SOCKET=\(backup.delivery.root.socket!)"]
          + [builtProgram("switchboard-companion").path(), "restore", backup.file, "--dry-run"]
          + ["--identity", backup.identity, "--schema", projectSchema.path(), "--replace"]
          + ["--root", backup.root])
      #expect(here.status == 0 && here.output.contains(server), "\(here.output)")

      try backup.write("SWITCHBOARD_DB_NAME=own\n", to: "../environment")
      #expect(backup.backUp(to: backup.file + ".2").status == 0)
      // The options of a client that uses another server.
      try writeScript(
        """
        #!/bin/sh
        printf '%s\\n' '--host=192.0.2.10' '--password=secret --host=hidden' --user=root
        """, to: backup.folder + "/bin/my_print_defaults")
      let there = runProgram(
        "env",
        ["PATH=\(backup.folder)/bin:/usr/bin:/bin", builtProgram("switchboard-companion").path()]
          + ["restore", backup.file + ".2", "--dry-run", "--replace"] + backup.siteOptions
          + ["--identity", backup.identity, "--schema", projectSchema.path()])
      #expect(there.status == 0 && !there.output.contains("hidden"), "\(there.output)")
      #expect(
        there.output.contains("but the database is restored on 192.0.2.10."), "\(there.output)")
    }
  }

  @Test func aBackupFromBeforePaymentKeysGetsNewOnes() throws {
    try withBackup { backup throws in
      let path = "\(backup.secrets)/payment-keys"
      try FileManager.default.removeItem(atPath: path)
      #expect(backup.backUp().status == 0)
      let plan = backup.restore(["--dry-run", "--replace"])
      #expect(plan.output.contains("The backup has no payment-keys, so new ones are made."))
      #expect(!FileManager.default.fileExists(atPath: path))
      let restored = backup.restore()
      #expect(restored.status == 0, "\(restored.output)")
      #expect(restored.output.contains("The backup has no payment-keys, so \(path) was made."))
      _ = try ES256Keyring(parsing: backup.secret("payment-keys"))
      #expect(backup.shell("stat -c %a \(path)") == "600\n")
    }
  }

  @Test func paymentKeysThatTheBackupLacksStay() throws {
    try withBackup { backup throws in
      let path = "\(backup.secrets)/payment-keys"
      let text = try backup.secret("payment-keys")
      try FileManager.default.removeItem(atPath: path)
      #expect(backup.backUp().status == 0)
      try backup.write(text, to: "payment-keys")
      let restored = backup.restore()
      #expect(restored.status == 0, "\(restored.output)")
      #expect(!restored.output.contains("payment-keys"))
      #expect(try backup.secret("payment-keys") == text)
    }
  }

  @Test func anOlderSchemaIsBroughtToThisVersion() throws {
    try withBackup { backup throws in
      backup.delivery.sql("UPDATE schema_version SET version = 0; DROP VIEW jobs_today")
      #expect(backup.backUp().status == 0)
      let restored = backup.restore()
      #expect(restored.status == 0, "\(restored.output)")
      #expect(
        restored.output.contains(
          "Its schema is brought from version 0 to \(Database.schemaVersion)."))
      #expect(
        backup.delivery.sql("SELECT version FROM schema_version") == "\(Database.schemaVersion)")
      #expect(backup.delivery.sql("SELECT COUNT(*) FROM jobs_today") == "0")
    }
  }

  @Test func aDatabaseWithDataIsReplacedOnlyOnDemandAndAnEmptyOneAtOnce() throws {
    try withBackup { backup throws in
      #expect(backup.backUp().status == 0)
      let before = backup.everything()
      let refused = backup.restore(["--yes"])
      #expect(refused.status == 1)
      #expect(refused.output.contains("The database own exists and has data. With --replace"))
      #expect(backup.everything() == before)
      backup.delivery.sql("DELETE FROM accounts")
      #expect(backup.restore(["--yes"]).status == 0)
      #expect(backup.delivery.sql("SELECT COUNT(*) FROM accounts") == "1")
    }
  }

  @Test func aProgramThatIsConnectedIsInTheWay() throws {
    try withBackup { backup throws in
      #expect(backup.backUp().status == 0)
      let before = backup.everything()
      let connection = try Connection(backup.delivery.account(of: "responder"))
      let restored = backup.restore()
      #expect(restored.status == 1)
      #expect(
        restored.output.contains("responder@localhost is connected to the database own. Stop"))
      withExtendedLifetime(connection) { #expect(backup.everything() == before) }
    }
  }

  @Test func keysThatAreLostAreNamedAndMayBeDoneWithout() throws {
    try withBackup { backup throws in
      backup.delivery.sql(
        """
        INSERT INTO banks (bsim_id, name, authorization_url, token_url, cards_url, client_id, client_secret, scope)
        VALUES ('bank-1', 'Bank', 'https://a', 'https://t', 'https://c', 'client', 'box:c9.x', 'cards')
        """)
      let made = backup.backUp()
      #expect(made.status == 1, "a timer sees it")
      #expect(made.output.contains("only the key c9 of companion-keys opens"))
      let before = backup.everything()
      let refused = backup.restore()
      #expect(refused.status == 1)
      #expect(
        refused.output.contains("only the key c9 of companion-keys opens, and has no such key"))
      #expect(backup.everything() == before)
      #expect(backup.restore(["--yes", "--replace", "--accept-lost-keys"]).status == 0)
    }
  }

  @Test func aDryRunSaysWhomItSignsOutAndChangesNothing() throws {
    try withBackup { backup throws in
      backup.delivery.sql(Self.openRows)
      #expect(backup.backUp().status == 0)
      backup.delivery.sql(
        """
        UPDATE sessions SET rotated_at = UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE;
        UPDATE pairings SET rotated_at = UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE
        """)
      let before = backup.everything()
      let planned = backup.restore(["--dry-run", "--replace"])
      #expect(planned.status == 0, "\(planned.output)")
      #expect(planned.output.contains("with 1 signed-in phones and 1 paired phones."))
      #expect(
        planned.output.contains("In the present database these are 1 phones, and 0 paired phones."))
      #expect(planned.output.contains("are closed: 1 payments."))
      let json = backup.restore(["--dry-run", "--replace", "--json"])
      let object = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
      #expect(object?["restored"] as? Bool == false)
      #expect(object?["open_payments"] as? Int == 1)
      #expect(backup.everything() == before)
    }
  }

  @Test func whoeverDoesNotSayYesChangesNothing() throws {
    try withBackup { backup throws in
      #expect(backup.backUp().status == 0)
      let before = backup.everything()
      let restored = backup.restore(["--replace"])
      #expect(restored.status == 1)
      #expect(restored.output.contains("Restore? Type yes: "))
      #expect(backup.everything() == before)
    }
  }
}
