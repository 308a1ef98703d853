-- ROWS users of online-go.com, each with one device, never polled and not due.

INSERT INTO ogs_users (id, due_at) SELECT 1000000 + seq, UTC_TIMESTAMP(3) + INTERVAL 1 DAY FROM seq_1_to_ROWS;

INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
  SELECT 1000000 + seq, SHA2(seq, 256), UTC_TIMESTAMP(3) FROM seq_1_to_ROWS;

ANALYZE TABLE ogs_users, ogs_registrations;
