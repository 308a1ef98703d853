-- ROWS rows that nobody needs: four in ten of the audit log, a fifth each of notifications with their deliveries (as many
-- again), a tenth each of mails and limits.

SET @now = UTC_TIMESTAMP(3), time_zone = '+00:00', unique_checks = 0, foreign_key_checks = 0;

INSERT INTO audit_log (at, event, request_id, address)
  SELECT @now - INTERVAL 400 DAY + INTERVAL seq DIV 10 SECOND, 'sign_in', MD5(seq), '192.0.2.1' FROM seq_1_to_ROWS WHERE seq MOD 10 < 4;

INSERT INTO notifications (id, kind, event_key, collapse_id, created_at, expires_at)
  SELECT CONCAT('01900000-0000-7003-8000-', LPAD(HEX(seq), 12, '0')), 'turn', CONCAT('old ', seq), 'game',
         @now - INTERVAL 60 DAY + INTERVAL seq DIV 10 SECOND, @now - INTERVAL 59 DAY
    FROM seq_1_to_ROWS WHERE seq MOD 10 IN (4, 5);

INSERT INTO deliveries (id, notification_id, token, shard, state, due_at, finished_at)
  SELECT CONCAT('01900000-0000-7004-8000-', LPAD(HEX(seq), 12, '0')),
         CONCAT('01900000-0000-7003-8000-', LPAD(HEX(seq), 12, '0')), SHA2(seq, 256), seq & 15,
         IF(seq MOD 2, 'delivered', 'dead'), @now - INTERVAL 60 DAY, @now - INTERVAL 59 DAY
    FROM seq_1_to_ROWS WHERE seq MOD 10 IN (4, 5);

INSERT INTO outbox (id, kind, recipient, state, expires_at, finished_at, request_id)
  SELECT CONCAT('01900000-0000-7005-8000-', LPAD(HEX(seq), 12, '0')), 'login_code', 'old@example.org', 'dead',
         @now - INTERVAL 60 DAY, @now - INTERVAL 60 DAY + INTERVAL seq DIV 10 SECOND, MD5(seq)
    FROM seq_1_to_ROWS WHERE seq MOD 10 = 6;

INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
  SELECT 'old', seq, @now - INTERVAL 60 DAY + INTERVAL seq DIV 10 SECOND, 60, 1, 30 FROM seq_1_to_ROWS WHERE seq MOD 10 = 7;

ANALYZE TABLE audit_log, notifications, deliveries, outbox, rate_limits;
