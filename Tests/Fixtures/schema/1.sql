-- The whole schema of Switchboard, and its upgrade: it may be applied to an empty database, to itself and to
-- every earlier released version, any number of times, and keeps the data. What a later version adds stands
-- behind the table it adds to, as ALTER TABLE … ADD … IF NOT EXISTS.
--
-- Times are UTC with milliseconds. Identifiers and hashes compare byte by byte (no padding, no folding of case or
-- accents). Nothing here lets anyone in: tokens, codes, challenges and credentials are kept as hashes.
-- Administrators read the views at the end.

SET NAMES utf8mb4;

CREATE TABLE IF NOT EXISTS schema_version (
  id      TINYINT UNSIGNED NOT NULL DEFAULT 1 PRIMARY KEY,
  version INT UNSIGNED NOT NULL COMMENT 'what the programs expect to find; see switchboard-companion check',
  CONSTRAINT schema_version_is_one_row CHECK (id = 1)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

INSERT INTO schema_version (id, version) VALUES (1, 1) ON DUPLICATE KEY UPDATE version = GREATEST(version, VALUES(version));

-- Accounts and devices: what every family hangs on ---------------------------------------------------------------

CREATE TABLE IF NOT EXISTS accounts (
  id         UUID NOT NULL PRIMARY KEY,
  email      VARCHAR(254) NOT NULL COMMENT 'lower-cased; compared byte by byte',
  name       VARCHAR(200) NOT NULL,
  username   VARCHAR(254) NOT NULL COMMENT 'what X-Username must name; the e-mail address unless changed',
  wallet_id  VARCHAR(32) NOT NULL COMMENT 'wsim_ and 12 letters or digits',
  created_at DATETIME(3) NOT NULL COMMENT 'UTC',
  UNIQUE KEY accounts_email (email),
  UNIQUE KEY accounts_username (username),
  UNIQUE KEY accounts_wallet_id (wallet_id),
  CONSTRAINT accounts_email_form CHECK (email = LOWER(email) AND email LIKE '_%@_%'),
  CONSTRAINT accounts_name_not_empty CHECK (CHAR_LENGTH(name) > 0),
  CONSTRAINT accounts_username_lower CHECK (username = LOWER(username) AND CHAR_LENGTH(username) > 0),
  CONSTRAINT accounts_wallet_id_form CHECK (wallet_id REGEXP '^wsim_[A-Za-z0-9]{12}$')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS devices (
  id                    UUID NOT NULL PRIMARY KEY COMMENT 'made by the server; device_id of the preferences',
  account_id            UUID NOT NULL,
  client_device_id      VARCHAR(128) NOT NULL COMMENT 'made by the app; one phone may have a row for each of its accounts',
  name                  VARCHAR(200) NOT NULL,
  platform              ENUM('ios', 'android', 'macos') NOT NULL,
  credential_hash       BINARY(32) NULL COMMENT 'SHA-256 of the device credential',
  credential_expires_at DATETIME(3) NULL COMMENT 'UTC',
  created_at            DATETIME(3) NOT NULL COMMENT 'UTC; first sign-in of this account on this device',
  last_used_at          DATETIME(3) NOT NULL COMMENT 'UTC; first use of the newest access token, so up to an hour old',
  revoked_at            DATETIME(3) NULL COMMENT 'UTC; out everywhere until the next sign-in',
  UNIQUE KEY devices_account_client (account_id, client_device_id),
  KEY devices_client (client_device_id),
  CONSTRAINT devices_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  CONSTRAINT devices_client_device_id_not_empty CHECK (CHAR_LENGTH(client_device_id) > 0),
  CONSTRAINT devices_name_not_empty CHECK (CHAR_LENGTH(name) > 0),
  CONSTRAINT devices_credential_whole CHECK ((credential_hash IS NULL) = (credential_expires_at IS NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- Preferences ----------------------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS models (
  name     VARCHAR(128) NOT NULL PRIMARY KEY,
  folded   VARCHAR(128) AS (LOWER(name)) PERSISTENT COMMENT 'no two models differ in case only',
  position SMALLINT UNSIGNED NOT NULL COMMENT 'order in GET /api/v1/models',
  UNIQUE KEY models_folded (folded),
  CONSTRAINT models_name_trimmed CHECK (CHAR_LENGTH(name) > 0 AND name = TRIM(name))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='The catalogue; while it is empty the apps may choose any name';

-- Seeded only with the schema's first application: an administrator's changes stay.
INSERT INTO models (name, position)
  SELECT seed.name, seed.position
    FROM (SELECT 'gpt-4o-mini' AS name, 1 AS position UNION ALL SELECT 'claude-3.5-sonnet', 2
          UNION ALL SELECT 'gpt-4o', 3 UNION ALL SELECT 'mistral-nemo', 4) AS seed
   WHERE NOT EXISTS (SELECT 1 FROM information_schema.TABLES
                      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'device_preferences');

CREATE TABLE IF NOT EXISTS device_preferences (
  device_id              UUID NOT NULL PRIMARY KEY,
  push_enabled           BOOLEAN NOT NULL DEFAULT FALSE,
  push_token             VARCHAR(512) NULL COMMENT 'as the app last sent it, opaque',
  preferred_models       TEXT NOT NULL DEFAULT '[]' COMMENT 'JSON array of at most 16 names',
  archive_cache_quota_mb SMALLINT UNSIGNED NOT NULL DEFAULT 512 COMMENT 'MiB',
  version                INT UNSIGNED NOT NULL DEFAULT 0 COMMENT '0: never written',
  last_updated_at        DATETIME(3) NOT NULL COMMENT 'UTC; when the device was registered, while version is 0',
  last_write_digest      BINARY(32) NULL COMMENT 'SHA-256 of the last change, to know it when it is sent again',
  last_write_base        INT UNSIGNED NULL COMMENT 'if_version of the last change',
  CONSTRAINT device_preferences_device FOREIGN KEY (device_id) REFERENCES devices (id) ON DELETE CASCADE,
  CONSTRAINT device_preferences_push_token_not_empty CHECK (CHAR_LENGTH(push_token) > 0),
  CONSTRAINT device_preferences_models_array
    CHECK (JSON_TYPE(preferred_models) = 'ARRAY' AND JSON_LENGTH(preferred_models) <= 16),
  CONSTRAINT device_preferences_quota CHECK (archive_cache_quota_mb BETWEEN 128 AND 4096)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- Push -----------------------------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS push_tokens (
  token         VARCHAR(512) NOT NULL PRIMARY KEY COMMENT 'case matters; one row and one owner, whatever endpoint brought it',
  device_id     UUID NOT NULL,
  platform      ENUM('ios', 'macos', 'android') NOT NULL COMMENT 'android tokens are kept and never sent to APNs',
  registered_at DATETIME(3) NOT NULL COMMENT 'UTC; last registration, compared with the time Apple gives for a dead token',
  KEY push_tokens_device (device_id),
  CONSTRAINT push_tokens_device FOREIGN KEY (device_id) REFERENCES devices (id) ON DELETE CASCADE,
  CONSTRAINT push_tokens_form CHECK (token REGEXP '^[A-Za-z0-9:_.-]{20,512}$')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- Wallet ---------------------------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS device_registrations (
  client_device_id      VARCHAR(128) NOT NULL,
  address               VARCHAR(45) NOT NULL COMMENT 'of the caller: a stranger who knows the id replaces nothing but his own row',
  name                  VARCHAR(200) NOT NULL,
  platform              ENUM('ios', 'android', 'macos') NOT NULL,
  push_token            VARCHAR(512) NULL,
  credential_hash       BINARY(32) NOT NULL COMMENT 'SHA-256 of the device credential',
  credential_expires_at DATETIME(3) NOT NULL COMMENT 'UTC',
  registered_at         DATETIME(3) NOT NULL COMMENT 'UTC',
  PRIMARY KEY (client_device_id, address),
  UNIQUE KEY device_registrations_credential (credential_hash),
  KEY device_registrations_expiry (credential_expires_at),
  CONSTRAINT device_registrations_id_not_empty CHECK (CHAR_LENGTH(client_device_id) > 0),
  CONSTRAINT device_registrations_name_not_empty CHECK (CHAR_LENGTH(name) > 0),
  CONSTRAINT device_registrations_push_token_form CHECK (push_token REGEXP '^[A-Za-z0-9:_.-]{20,512}$')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Devices that have not signed in yet; the next sign-in turns one into the account''s device';

CREATE TABLE IF NOT EXISTS sessions (
  id         UUID NOT NULL PRIMARY KEY COMMENT 'sid of the access token: one sign-in, one family of refresh tokens',
  device_id  UUID NOT NULL,
  generation INT UNSIGNED NOT NULL DEFAULT 1 COMMENT 'of the newest refresh token',
  confirmed  BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'an access token of the newest generation has been used',
  created_at DATETIME(3) NOT NULL COMMENT 'UTC',
  rotated_at DATETIME(3) NOT NULL COMMENT 'UTC; when the newest generation was made',
  expires_at DATETIME(3) NOT NULL COMMENT 'UTC; of the newest refresh token',
  ended_at   DATETIME(3) NULL COMMENT 'UTC',
  end_reason ENUM('logout', 'logout_all', 'device_revoked', 'reuse') NULL,
  KEY sessions_device (device_id, ended_at),
  KEY sessions_ended (ended_at),
  KEY sessions_expiry (expires_at),
  CONSTRAINT sessions_device FOREIGN KEY (device_id) REFERENCES devices (id) ON DELETE CASCADE,
  CONSTRAINT sessions_generation CHECK (generation > 0),
  CONSTRAINT sessions_end_whole CHECK ((ended_at IS NULL) = (end_reason IS NULL)),
  CONSTRAINT sessions_expiry_later CHECK (expires_at > rotated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS login_codes (
  email            VARCHAR(254) NOT NULL COMMENT 'whether an account has it or not',
  client_device_id VARCHAR(128) NOT NULL,
  challenge_hash   BINARY(32) NOT NULL COMMENT 'SHA-256 of the challenge',
  code_mac         BINARY(32) NOT NULL COMMENT 'HMAC of the code under a key that is not in the database',
  device_name      VARCHAR(200) NULL COMMENT 'as the request for the code gave it',
  platform         ENUM('ios', 'android', 'macos') NULL,
  attempts         TINYINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'counted before the code is compared',
  expires_at       DATETIME(3) NOT NULL COMMENT 'UTC',
  spent_at         DATETIME(3) NULL COMMENT 'UTC',
  PRIMARY KEY (email, client_device_id),
  UNIQUE KEY login_codes_challenge (challenge_hash),
  KEY login_codes_expiry (expires_at),
  CONSTRAINT login_codes_attempts CHECK (attempts <= 5)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='At most one live code for an address and a device';

CREATE TABLE IF NOT EXISTS banks (
  bsim_id VARCHAR(64) NOT NULL PRIMARY KEY,
  name    VARCHAR(200) NOT NULL,
  logo_url VARCHAR(2000) NULL,
  CONSTRAINT banks_bsim_id_form CHECK (bsim_id REGEXP '^[A-Za-z0-9._-]+$'),
  CONSTRAINT banks_name_not_empty CHECK (CHAR_LENGTH(name) > 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS enrollments (
  id          UUID NOT NULL PRIMARY KEY,
  account_id  UUID NOT NULL,
  bsim_id     VARCHAR(64) NOT NULL,
  enrolled_at DATETIME(3) NOT NULL COMMENT 'UTC',
  UNIQUE KEY enrollments_account_bank (account_id, bsim_id),
  CONSTRAINT enrollments_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  CONSTRAINT enrollments_bank FOREIGN KEY (bsim_id) REFERENCES banks (bsim_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS cards (
  id            UUID NOT NULL PRIMARY KEY,
  enrollment_id UUID NOT NULL,
  last_four     CHAR(4) NOT NULL,
  card_type     VARCHAR(20) NOT NULL COMMENT 'VISA, MASTERCARD, AMEX, DISCOVER, DEBIT',
  is_default    BOOLEAN NOT NULL DEFAULT FALSE,
  active        BOOLEAN NOT NULL DEFAULT TRUE,
  added_at      DATETIME(3) NOT NULL COMMENT 'UTC',
  KEY cards_enrollment (enrollment_id),
  CONSTRAINT cards_enrollment FOREIGN KEY (enrollment_id) REFERENCES enrollments (id) ON DELETE CASCADE,
  CONSTRAINT cards_last_four_digits CHECK (last_four REGEXP '^[0-9]{4}$'),
  CONSTRAINT cards_type_upper CHECK (card_type = UPPER(card_type) AND CHAR_LENGTH(card_type) > 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- Work for the companion, and what it says of itself ---------------------------------------------------------------

CREATE TABLE IF NOT EXISTS outbox (
  id          UUID NOT NULL PRIMARY KEY,
  kind        ENUM('login_code') NOT NULL,
  recipient   VARCHAR(254) NOT NULL COMMENT 'e-mail address',
  sealed      VARCHAR(1000) NULL COMMENT 'what the message says that nobody else may read, AES-256-GCM; wiped when the row is closed',
  state       ENUM('open', 'delivered', 'dead', 'suppressed') NOT NULL DEFAULT 'open'
              COMMENT 'suppressed: nothing is sent, for nobody has this address; dead: given up, see reason',
  due_at      DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
              COMMENT 'UTC, the database''s clock; not before; while it is claimed, the end of the lease',
  expires_at  DATETIME(3) NOT NULL COMMENT 'UTC, the database''s clock; not after',
  attempts    SMALLINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'counted when claimed',
  claim_id    UUID NULL COMMENT 'of the pass that holds it or held it last',
  reason      VARCHAR(200) NULL COMMENT 'why the last attempt failed',
  request_id  VARCHAR(64) NOT NULL COMMENT 'of the request that asked for it',
  created_at  DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) COMMENT 'UTC, the database''s clock',
  finished_at DATETIME(3) NULL COMMENT 'UTC, the database''s clock',
  KEY outbox_due (state, due_at),
  KEY outbox_claim (claim_id),
  KEY outbox_finished (finished_at),
  CONSTRAINT outbox_closed_whole CHECK ((state = 'open') = (finished_at IS NULL)),
  CONSTRAINT outbox_closed_wiped CHECK (state = 'open' OR sealed IS NULL)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS companion_status (
  host         VARCHAR(64) NOT NULL PRIMARY KEY,
  version      VARCHAR(32) NOT NULL,
  last_pass_at DATETIME(3) NOT NULL COMMENT 'UTC, the database''s clock; end of the last whole pass',
  missing      VARCHAR(1000) NOT NULL DEFAULT '' COMMENT 'names of the variables without which something is not sent'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- Limits and the audit log ---------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS rate_limits (
  name              VARCHAR(40) NOT NULL COMMENT 'of the limit',
  subject           VARCHAR(400) NOT NULL COMMENT 'who is counted: a device, an account, an address, …',
  window_started_at DATETIME(3) NOT NULL COMMENT 'UTC',
  window_seconds    INT UNSIGNED NOT NULL COMMENT 'seconds',
  hits              INT UNSIGNED NOT NULL COMMENT 'in this window',
  allowed           INT UNSIGNED NOT NULL COMMENT 'in one window',
  PRIMARY KEY (name, subject),
  KEY rate_limits_window (window_started_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS audit_log (
  id          BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  at          DATETIME(3) NOT NULL COMMENT 'UTC',
  event       VARCHAR(40) NOT NULL,
  account_id  UUID NULL COMMENT 'stays when the account goes',
  device_id   UUID NULL,
  request_id  VARCHAR(64) NOT NULL,
  address     VARCHAR(45) NOT NULL COMMENT 'of the caller, as the web server gave it',
  detail      VARCHAR(200) NULL,
  platform    VARCHAR(20) NULL COMMENT 'as the app says',
  bundle_id   VARCHAR(128) NULL COMMENT 'as the app says',
  app_version VARCHAR(32) NULL COMMENT 'as the app says',
  attestation ENUM('none', 'stub', 'unverified') NULL COMMENT 'unverified: the app sent an assertion that nobody checked',
  KEY audit_log_at (at),
  KEY audit_log_account (account_id, at),
  KEY audit_log_device (device_id, at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- What administrators ask ------------------------------------------------------------------------------------------

CREATE OR REPLACE SQL SECURITY DEFINER VIEW every_device AS
  SELECT a.email, a.username, a.wallet_id, d.id AS device_id, d.client_device_id, d.name, d.platform, d.created_at,
         d.last_used_at, d.revoked_at, p.version AS preferences_version, p.push_enabled, p.archive_cache_quota_mb,
         p.preferred_models, (SELECT COUNT(*) FROM push_tokens t WHERE t.device_id = d.id) AS push_tokens,
         (SELECT COUNT(*) FROM sessions s WHERE s.device_id = d.id AND s.ended_at IS NULL
                                            AND s.expires_at > UTC_TIMESTAMP(3)) AS live_sessions
    FROM devices d
    JOIN accounts a ON a.id = d.account_id
    LEFT JOIN device_preferences p ON p.device_id = d.id;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW live_sessions AS
  SELECT a.email, d.name AS device, d.platform, s.id AS session_id, s.created_at, s.rotated_at AS refreshed_at,
         s.generation, s.confirmed, s.expires_at
    FROM sessions s
    JOIN devices d ON d.id = s.device_id
    JOIN accounts a ON a.id = d.account_id
   WHERE s.ended_at IS NULL AND s.expires_at > UTC_TIMESTAMP(3);

CREATE OR REPLACE SQL SECURITY DEFINER VIEW sent_today AS
  SELECT id, kind, recipient,
         IF(state = 'open' AND claim_id IS NOT NULL AND due_at > UTC_TIMESTAMP(3), 'claimed', state) AS state,
         attempts, reason, created_at, due_at, finished_at, request_id
    FROM outbox
   WHERE created_at >= UTC_DATE();

CREATE OR REPLACE SQL SECURITY DEFINER VIEW failures_by_reason AS
  SELECT kind, state, reason, COUNT(*) AS messages, MAX(created_at) AS latest
    FROM outbox
   WHERE reason IS NOT NULL
   GROUP BY kind, state, reason;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW rate_limited_callers AS
  SELECT name, subject, hits, allowed, window_started_at,
         window_started_at + INTERVAL window_seconds SECOND AS free_again_at
    FROM rate_limits
   WHERE hits >= allowed AND window_started_at + INTERVAL window_seconds SECOND > UTC_TIMESTAMP(3);

CREATE OR REPLACE SQL SECURITY DEFINER VIEW audit_trail AS
  SELECT l.at, l.event, l.detail, a.email, d.name AS device, l.address, l.platform, l.bundle_id, l.app_version,
         l.attestation, l.request_id, l.account_id, l.device_id
    FROM audit_log l
    LEFT JOIN accounts a ON a.id = l.account_id
    LEFT JOIN devices d ON d.id = l.device_id;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW companions AS
  SELECT host, version, last_pass_at, missing, last_pass_at < UTC_TIMESTAMP(3) - INTERVAL 5 MINUTE AS overdue
    FROM companion_status;

-- Least rights: the users that log in are made by whoever installs and are given one of these roles ---------------------

CREATE ROLE IF NOT EXISTS switchboard_responder, switchboard_companion, switchboard_administrator;

GRANT SELECT ON schema_version TO switchboard_responder;
GRANT SELECT, INSERT ON accounts TO switchboard_responder;
GRANT SELECT, INSERT, UPDATE ON devices TO switchboard_responder;
GRANT SELECT ON models TO switchboard_responder;
GRANT SELECT, INSERT, UPDATE ON device_preferences TO switchboard_responder;
GRANT SELECT, INSERT, UPDATE, DELETE ON push_tokens TO switchboard_responder;
GRANT SELECT, INSERT, UPDATE, DELETE ON device_registrations TO switchboard_responder;
GRANT SELECT, INSERT, UPDATE ON sessions TO switchboard_responder;
GRANT SELECT, INSERT, UPDATE ON login_codes TO switchboard_responder;
GRANT SELECT ON banks TO switchboard_responder;
GRANT SELECT ON enrollments TO switchboard_responder;
GRANT SELECT ON cards TO switchboard_responder;
GRANT INSERT ON outbox TO switchboard_responder;
GRANT SELECT ON companion_status TO switchboard_responder;
GRANT SELECT, INSERT, UPDATE ON rate_limits TO switchboard_responder;
GRANT INSERT ON audit_log TO switchboard_responder;

GRANT SELECT ON schema_version TO switchboard_companion;
GRANT SELECT, UPDATE, DELETE ON outbox TO switchboard_companion;
GRANT SELECT, INSERT, UPDATE ON companion_status TO switchboard_companion;
GRANT SELECT (expires_at, ended_at), DELETE ON sessions TO switchboard_companion;
GRANT SELECT (expires_at), DELETE ON login_codes TO switchboard_companion;
GRANT SELECT (credential_expires_at), DELETE ON device_registrations TO switchboard_companion;
GRANT SELECT (window_started_at, window_seconds), DELETE ON rate_limits TO switchboard_companion;
GRANT SELECT (at), DELETE ON audit_log TO switchboard_companion;

GRANT SELECT ON every_device TO switchboard_administrator;
GRANT SELECT ON live_sessions TO switchboard_administrator;
GRANT SELECT ON sent_today TO switchboard_administrator;
GRANT SELECT ON failures_by_reason TO switchboard_administrator;
GRANT SELECT ON rate_limited_callers TO switchboard_administrator;
GRANT SELECT ON audit_trail TO switchboard_administrator;
GRANT SELECT ON companions TO switchboard_administrator;
