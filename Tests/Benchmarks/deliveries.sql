-- ROWS notifications that are due, each to one device. Ids rise with time, as ours do.

SET @now = UTC_TIMESTAMP(3);

INSERT INTO notifications (id, kind, event_key, collapse_id, body, badge, sound, data, expires_at)
  SELECT CONCAT('01900000-0000-7003-8000-', LPAD(HEX(seq), 12, '0')), 'turn', CONCAT('turn ', seq), LEFT(SHA2(seq, 224), 32),
         CONCAT('It''s your turn in: Friendly match ', seq), 1, 'default',
         CONCAT('{"web_url":"https://online-go.com/game/', seq, '","app_url":"ogs://game/', seq, '","game_id":', seq,
                ',"action":"open_game","game_name":"Friendly match ', seq, '"}'), @now + INTERVAL 1 DAY
    FROM seq_1_to_ROWS;

INSERT INTO deliveries (id, notification_id, token, shard, due_at)
  SELECT CONCAT('01900000-0000-7004-8000-', LPAD(HEX(seq), 12, '0')),
         CONCAT('01900000-0000-7003-8000-', LPAD(HEX(seq), 12, '0')), SHA2(seq, 256),
         CONV(LEFT(SHA2(SHA2(seq, 256), 256), 2), 16, 10) & 15, @now - INTERVAL (ROWS - seq) DIV 10 SECOND
    FROM seq_1_to_ROWS;

ANALYZE TABLE notifications, deliveries;
