-- ROWS accounts, each signed in on one device that has saved its preferences, and has a push token. The ids are made of
-- the number: see tokens.py.

SET @now = UTC_TIMESTAMP(3);

INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
  SELECT CONCAT('01900000-0000-7000-8000-', LPAD(HEX(seq), 12, '0')), CONCAT('user', seq, '@example.org'),
         CONCAT('User ', seq), CONCAT('user', seq, '@example.org'), CONCAT('wsim_', LPAD(seq, 12, '0')), @now
    FROM seq_1_to_ROWS;

INSERT INTO devices (id, account_id, client_device_id, name, platform, credential_hash, credential_expires_at,
                     created_at, last_used_at)
  SELECT CONCAT('01900000-0000-7001-8000-', LPAD(HEX(seq), 12, '0')),
         CONCAT('01900000-0000-7000-8000-', LPAD(HEX(seq), 12, '0')), UPPER(CONCAT('11111111-2222-4333-8444-',
         LPAD(HEX(seq), 12, '0'))), 'iPhone', 'ios', UNHEX(SHA2(seq, 256)), @now + INTERVAL 365 DAY, @now, @now
    FROM seq_1_to_ROWS;

INSERT INTO sessions (id, device_id, confirmed, created_at, rotated_at, expires_at)
  SELECT CONCAT('01900000-0000-7002-8000-', LPAD(HEX(seq), 12, '0')),
         CONCAT('01900000-0000-7001-8000-', LPAD(HEX(seq), 12, '0')), TRUE, @now, @now, @now + INTERVAL 30 DAY
    FROM seq_1_to_ROWS;

INSERT INTO device_preferences (device_id, push_enabled, push_token, preferred_models, version, last_updated_at)
  SELECT CONCAT('01900000-0000-7001-8000-', LPAD(HEX(seq), 12, '0')), TRUE, 'apns_dev_ABC123',
         '["gpt-4o-mini","claude-3.5-sonnet"]', 1, @now
    FROM seq_1_to_ROWS;

INSERT INTO push_tokens (token, device_id, platform, registered_at)
  SELECT SHA2(seq, 256), CONCAT('01900000-0000-7001-8000-', LPAD(HEX(seq), 12, '0')), 'ios', @now
    FROM seq_1_to_ROWS;

ANALYZE TABLE accounts, devices, sessions, device_preferences, push_tokens;
