-- The whole schema of Switchboard, and its upgrade. Apply it to an empty database, to a current one or to one of any
-- released version, as often as you like: it keeps the data. After an error, apply it again: the version is set last.
-- nginx/apply-schema repeats it while tables are in use.
--
-- Order: version, tables by room, upgrade, rows, views by room, roles and rights by room.
--
-- To change the schema: change the tables, raise the version, add to the upgrade what earlier versions need, and copy
-- the file to Tests/Fixtures/schema/VERSION.sql.
--
-- Times are UTC with milliseconds. Identifiers and hashes compare byte by byte: no padding, no folding of case or
-- accents. Nothing here gives access: tokens, codes, challenges and credentials are kept as hashes.

SET NAMES utf8mb4;
SET @version = 3;

-- While a statement waits for a table that is in use, all others that need the table wait too: one second is enough.
SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = 1;

CREATE TABLE IF NOT EXISTS schema_version (
  id      TINYINT UNSIGNED NOT NULL DEFAULT 1 PRIMARY KEY,
  version INT UNSIGNED NOT NULL COMMENT 'must be the version that the programs are written for',
  CONSTRAINT schema_version_is_one_row CHECK (id = 1)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS schema_tables (
  name     VARCHAR(64) NOT NULL PRIMARY KEY,
  checksum CHAR(32) NOT NULL COMMENT 'of its columns and indexes, as this file made them: see table_checksums'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- The version found; NULL in an empty database.
SET @found = (SELECT version FROM schema_version);

DELIMITER //
IF @found > @version THEN
  SET @refusal = CONCAT('the database has schema version ', @found, ' and this schema.sql is version ', @version,
                        ': nothing was changed; apply the schema.sql of version ', @found, ' or later');
  SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = @refusal;
END IF //
DELIMITER ;

SELECT CONCAT('Upgrading the schema from version ', @found, ' to ', @version) AS upgrade FROM DUAL WHERE @found < @version;

-- Accounts: what every room uses -----------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS accounts (
  id            UUID NOT NULL PRIMARY KEY,
  email         VARCHAR(254) NOT NULL COMMENT 'lower case; compared byte by byte',
  name          VARCHAR(200) NOT NULL,
  username      VARCHAR(254) NOT NULL COMMENT 'value of X-Username; the e-mail address unless changed',
  wallet_id     VARCHAR(32) NOT NULL COMMENT 'wsim_ and 12 letters or digits',
  created_at    DATETIME(3) NOT NULL COMMENT 'UTC',
  cards_version INT UNSIGNED NOT NULL DEFAULT 0
                COMMENT 'counts changes of the cards; each change writes this first, so that changes happen one after another',
  created_from  VARCHAR(45) NOT NULL DEFAULT '' COMMENT 'address of the caller that signed up',
  email_verified_at DATETIME(3) NULL COMMENT 'UTC; when somebody first proved that the e-mail address is theirs',
  language      ENUM('en', 'de', 'fr', 'es', 'fa') NULL COMMENT 'of the mails, as the last sign-in asked',
  banned_at     DATETIME(3) NULL COMMENT 'UTC; when an administrator banned the account; none: it is not banned',
  ban_reason    VARCHAR(200) NULL COMMENT 'why, for administrators',
  UNIQUE KEY accounts_email (email),
  UNIQUE KEY accounts_username (username),
  UNIQUE KEY accounts_wallet_id (wallet_id),
  KEY accounts_unproven (email_verified_at, created_at),
  CONSTRAINT accounts_email_form CHECK (email = LOWER(email) AND email LIKE '_%@_%'),
  CONSTRAINT accounts_name_not_empty CHECK (CHAR_LENGTH(name) > 0),
  CONSTRAINT accounts_username_lower CHECK (username = LOWER(username) AND CHAR_LENGTH(username) > 0),
  CONSTRAINT accounts_wallet_id_form CHECK (wallet_id REGEXP '^wsim_[A-Za-z0-9]{12}\\z')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS devices (
  id                    UUID NOT NULL PRIMARY KEY COMMENT 'made by the server; the preferences call it device_id',
  account_id            UUID NOT NULL,
  client_device_id      VARCHAR(128) NOT NULL COMMENT 'made by the app; a phone has one row for each of its accounts',
  name                  VARCHAR(200) NOT NULL,
  platform              ENUM('ios', 'android', 'macos') NOT NULL,
  credential_hash       BINARY(32) NULL COMMENT 'SHA-256 of the device credential',
  credential_expires_at DATETIME(3) NULL COMMENT 'UTC',
  credential_trusted_at DATETIME(3) NULL COMMENT 'UTC; when a proof came with the credential: from then on it is one itself; none: it proves nothing',
  credential_number     INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'counts the credentials made for the device: the newest is made of this number and a key',
  credential_made_at    DATETIME(3) NULL COMMENT 'UTC; when the newest was made; none: it was that of a registration',
  credential_made_for   VARCHAR(45) NOT NULL DEFAULT '' COMMENT 'network that asked for it: calls from there at once get the same',
  old_credential_hash   BINARY(32) NULL COMMENT 'SHA-256 of the credential before, which is good until the newest is used',
  old_credential_expires_at DATETIME(3) NULL COMMENT 'UTC',
  old_credential_trusted_at DATETIME(3) NULL COMMENT 'UTC; as credential_trusted_at',
  created_at            DATETIME(3) NOT NULL COMMENT 'UTC; first sign-in of this account on this device',
  last_used_at          DATETIME(3) NOT NULL COMMENT 'UTC; first use of the newest access token, so up to an hour old',
  revoked_at            DATETIME(3) NULL COMMENT 'UTC; no access from then on, until the next sign-in',
  UNIQUE KEY devices_account_client (account_id, client_device_id),
  KEY devices_client (client_device_id),
  CONSTRAINT devices_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  CONSTRAINT devices_client_device_id_not_empty CHECK (CHAR_LENGTH(client_device_id) > 0),
  CONSTRAINT devices_name_not_empty CHECK (CHAR_LENGTH(name) > 0),
  CONSTRAINT devices_credential_whole CHECK ((credential_hash IS NULL) = (credential_expires_at IS NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS device_registrations (
  client_device_id      VARCHAR(128) NOT NULL,
  address               VARCHAR(45) NOT NULL COMMENT 'of the caller',
  name                  VARCHAR(200) NOT NULL,
  platform              ENUM('ios', 'android', 'macos') NOT NULL,
  push_token            VARCHAR(512) NULL,
  credential_hash       BINARY(32) NOT NULL COMMENT 'SHA-256 of the device credential',
  credential_expires_at DATETIME(3) NOT NULL COMMENT 'UTC',
  registered_at         DATETIME(3) NOT NULL COMMENT 'UTC',
  PRIMARY KEY (credential_hash),
  KEY device_registrations_expiry (credential_expires_at),
  KEY device_registrations_phone (client_device_id, address, registered_at),
  CONSTRAINT device_registrations_id_not_empty CHECK (CHAR_LENGTH(client_device_id) > 0),
  CONSTRAINT device_registrations_name_not_empty CHECK (CHAR_LENGTH(name) > 0),
  CONSTRAINT device_registrations_push_token_form CHECK (push_token REGEXP '^[A-Za-z0-9:_.-]{20,512}\\z')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Devices that have not signed in yet; a sign-in that shows the credential turns one into a device of the account';

CREATE TABLE IF NOT EXISTS sessions (
  id         UUID NOT NULL PRIMARY KEY COMMENT 'sid of the access token; one sign-in, one family of refresh tokens',
  device_id  UUID NOT NULL,
  generation INT UNSIGNED NOT NULL DEFAULT 1 COMMENT 'of the newest refresh token',
  branch     INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of the newest refresh token; counts the successors that were replaced because their answer was lost: those are dead',
  first_branch INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'branch with which the generation began; that of the generation before',
  confirmed  BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'an access token of the newest branch has been used',
  created_at DATETIME(3) NOT NULL COMMENT 'UTC',
  rotated_at DATETIME(3) NOT NULL COMMENT 'UTC; when the newest refresh token was issued',
  answered_at DATETIME(3) NULL COMMENT 'UTC; when it was given out again; none: only when it was issued',
  rotated_from VARCHAR(45) NOT NULL DEFAULT '' COMMENT 'network that asked for it: a /24, a /64; empty: unknown',
  expires_at DATETIME(3) NOT NULL COMMENT 'UTC; of the newest refresh token',
  ended_at   DATETIME(3) NULL COMMENT 'UTC',
  end_reason ENUM('logout', 'logout_all', 'device_revoked', 'reuse', 'handed_over', 'signed_in_again', 'administrator') NULL,
  began_by   ENUM('untrusted_key', 'trusted_key', 'passkey', 'code', 'sign_up') NOT NULL
             COMMENT 'decides what the session may do; trusted_key: a biometric key that was set up with a proof; untrusted_key: any other',
  proved_at  DATETIME(3) NULL COMMENT 'UTC; when what began it proved who holds the account; none: it proves nothing; a sign-up loses it with the first passkey or key',
  KEY sessions_device (device_id, ended_at),
  KEY sessions_ended (ended_at),
  KEY sessions_expiry (expires_at),
  CONSTRAINT sessions_device FOREIGN KEY (device_id) REFERENCES devices (id) ON DELETE CASCADE,
  CONSTRAINT sessions_generation CHECK (generation > 0),
  CONSTRAINT sessions_end_whole CHECK ((ended_at IS NULL) = (end_reason IS NULL)),
  CONSTRAINT sessions_expiry_later CHECK (expires_at > rotated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS login_codes (
  email            VARCHAR(254) NOT NULL COMMENT 'also of people who have no account',
  client_device_id VARCHAR(128) NOT NULL,
  asked_by         VARCHAR(100) NOT NULL DEFAULT '' COMMENT 'network that asked, or known device: each has a code of its own',
  challenge_hash   BINARY(32) NOT NULL COMMENT 'SHA-256 of the challenge',
  code_mac         BINARY(32) NOT NULL COMMENT 'HMAC of the code; its key is not in the database',
  device_name      VARCHAR(200) NULL COMMENT 'from the request for the code',
  platform         ENUM('ios', 'android', 'macos') NULL,
  attempts         TINYINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of whoever asked; counted before the code is compared',
  others_attempts  TINYINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of all others together; they do not end the code for whoever asked',
  expires_at       DATETIME(3) NOT NULL COMMENT 'UTC',
  spent_at         DATETIME(3) NULL COMMENT 'UTC',
  PRIMARY KEY (email, client_device_id, asked_by),
  UNIQUE KEY login_codes_challenge (challenge_hash),
  KEY login_codes_expiry (expires_at),
  KEY login_codes_device (client_device_id),
  CONSTRAINT login_codes_attempts CHECK (attempts <= 5)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='At most one live code for an address, a device and an asker';

CREATE TABLE IF NOT EXISTS biometric_keys (
  device_id   UUID NOT NULL PRIMARY KEY,
  id          UUID NOT NULL COMMENT 'biometricId; each new key has a new one',
  type        ENUM('face', 'fingerprint') NOT NULL COMMENT 'as the app says',
  public_key  VARCHAR(200) NOT NULL COMMENT 'P-256, SubjectPublicKeyInfo in base64; the private key stays on the phone',
  enrolled_at DATETIME(3) NOT NULL COMMENT 'UTC',
  trusted_at  DATETIME(3) NOT NULL DEFAULT '2000-01-01' COMMENT 'UTC; from then on the key pays; later than enrolled_at: set up with a bearer alone, and never a proof',
  CONSTRAINT biometric_keys_device FOREIGN KEY (device_id) REFERENCES devices (id) ON DELETE CASCADE,
  CONSTRAINT biometric_keys_public_key_form CHECK (public_key REGEXP '^[A-Za-z0-9+/]+={0,2}\\z')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Keys that sign in on a device; wrong signatures are counted in rate_limits';

CREATE TABLE IF NOT EXISTS phone_challenges (
  challenge_hash   BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the challenge',
  purpose          ENUM('biometric', 'passkey') NOT NULL COMMENT 'a challenge for one purpose is refused for the other',
  client_device_id VARCHAR(128) NOT NULL COMMENT 'of the phone',
  asked_by         VARCHAR(64) NOT NULL COMMENT 'network that asked, or device that showed its credential: each has its newest ten',
  device_name      VARCHAR(200) NULL COMMENT 'from the request for the challenge',
  platform         ENUM('ios', 'android', 'macos') NULL,
  expires_at       DATETIME(3) NOT NULL COMMENT 'UTC',
  spent_at         DATETIME(3) NULL COMMENT 'UTC',
  KEY phone_challenges_phone (client_device_id, asked_by, purpose, expires_at),
  KEY phone_challenges_expiry (expires_at),
  CONSTRAINT phone_challenges_id_not_empty CHECK (CHAR_LENGTH(client_device_id) > 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Challenges that name a phone and no account: the signature tells the account';

CREATE TABLE IF NOT EXISTS passkeys (
  id                 UUID NOT NULL PRIMARY KEY,
  account_id         UUID NOT NULL,
  credential_id      VARBINARY(1023) NOT NULL COMMENT 'chosen by the authenticator; belongs to one account',
  public_key         VARBINARY(1024) NOT NULL COMMENT 'COSE in CBOR; the private key stays in the authenticator',
  sign_count         INT UNSIGNED NOT NULL COMMENT 'at the last use; stays 0 where the authenticator does not count',
  is_backup_eligible BOOLEAN NOT NULL COMMENT 'may be on several devices; never changes',
  is_backed_up       BOOLEAN NOT NULL COMMENT 'at the last use',
  name               VARCHAR(200) NOT NULL,
  created_at         DATETIME(3) NOT NULL COMMENT 'UTC',
  last_used_at       DATETIME(3) NULL COMMENT 'UTC; last sign-in or payment',
  uses               BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'sign-ins and payments; each changes the row, also where the authenticator does not count',
  session_id         UUID NULL COMMENT 'in which it was added; the link of that session in a mail removes it; none: before version 3',
  UNIQUE KEY passkeys_credential (credential_id),
  KEY passkeys_account (account_id),
  CONSTRAINT passkeys_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  CONSTRAINT passkeys_credential_not_empty CHECK (LENGTH(credential_id) > 0),
  CONSTRAINT passkeys_public_key_not_empty CHECK (LENGTH(public_key) > 0),
  CONSTRAINT passkeys_backup_eligible CHECK (is_backup_eligible OR NOT is_backed_up),
  CONSTRAINT passkeys_name_not_empty CHECK (CHAR_LENGTH(name) > 0),
  CONSTRAINT passkeys_used_whole CHECK ((uses > 0) = (last_used_at IS NOT NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Keys that sign in and pay, on any device';

CREATE TABLE IF NOT EXISTS passkey_challenges (
  challenge_hash   BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the challenge',
  purpose          ENUM('registration', 'authentication') NOT NULL COMMENT 'a challenge for one purpose is refused for the other',
  account_id       UUID NOT NULL COMMENT 'whose passkey is made or used',
  client_device_id VARCHAR(128) NOT NULL COMMENT 'of the phone that asked',
  device_name      VARCHAR(200) NULL COMMENT 'from the request for the challenge',
  platform         ENUM('ios', 'android', 'macos') NULL,
  expires_at       DATETIME(3) NOT NULL COMMENT 'UTC',
  spent_at         DATETIME(3) NULL COMMENT 'UTC',
  KEY passkey_challenges_account (account_id),
  KEY passkey_challenges_expiry (expires_at),
  CONSTRAINT passkey_challenges_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  CONSTRAINT passkey_challenges_device_not_empty CHECK (CHAR_LENGTH(client_device_id) > 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS address_changes (
  account_id UUID NOT NULL PRIMARY KEY COMMENT 'a new wish replaces the one before',
  email      VARCHAR(254) NOT NULL COMMENT 'the address that is wanted; lower case; may be that of another account, which then keeps it',
  token_hash BINARY(32) NOT NULL COMMENT 'SHA-256 of the token in the mailed link; the row is deleted when it is used',
  expires_at DATETIME(3) NOT NULL COMMENT 'UTC',
  session_id UUID NULL COMMENT 'that asked: the wish ends with it; none: a browser asked',
  UNIQUE KEY address_changes_token (token_hash),
  KEY address_changes_expiry (expires_at),
  CONSTRAINT address_changes_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  CONSTRAINT address_changes_email_form CHECK (email = LOWER(email) AND email LIKE '_%@_%')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='E-mail addresses that accounts are to get when their owner answers the mail';

CREATE TABLE IF NOT EXISTS account_visits (
  id             BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the cookie',
  account_id     UUID NULL COMMENT 'who has signed in; none: somebody is about to',
  proved_at      DATETIME(3) NULL COMMENT 'UTC; when a mailed code or a passkey proved who it is',
  form_hash      BINARY(32) NULL COMMENT 'SHA-256 of the token in the forms of the newest page; a form that is sent spends it',
  challenge_hash BINARY(32) NULL COMMENT 'SHA-256 of the challenge for a passkey; none: a code is asked for; zeros: it is spent',
  address        VARCHAR(45) NOT NULL DEFAULT '' COMMENT 'of the browser',
  expires_at     DATETIME(3) NOT NULL COMMENT 'UTC',
  KEY account_visits_account (account_id),
  KEY account_visits_expiry (expires_at),
  CONSTRAINT account_visits_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  CONSTRAINT account_visits_signed_in_whole CHECK ((account_id IS NULL) = (proved_at IS NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Browsers at the page /account';

-- Preferences ------------------------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS models (
  name     VARCHAR(128) NOT NULL PRIMARY KEY,
  folded   VARCHAR(128) AS (LOWER(name)) PERSISTENT COMMENT 'no two models differ in case only',
  position SMALLINT UNSIGNED NOT NULL COMMENT 'order in GET /api/v1/models',
  UNIQUE KEY models_folded (folded),
  CONSTRAINT models_name_trimmed CHECK (CHAR_LENGTH(name) > 0 AND name = TRIM(name))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='The catalog; while it is empty, the apps may choose any name';

-- Only where the schema is applied for the first time: an administrator's changes stay.
INSERT INTO models (name, position)
  SELECT seed.name, seed.position
    FROM (SELECT 'gpt-4o-mini' AS name, 1 AS position UNION ALL SELECT 'claude-3.5-sonnet', 2
          UNION ALL SELECT 'gpt-4o', 3 UNION ALL SELECT 'mistral-nemo', 4) AS seed
   WHERE NOT EXISTS (SELECT 1 FROM information_schema.TABLES
                      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'device_preferences');

CREATE TABLE IF NOT EXISTS device_preferences (
  device_id              UUID NOT NULL PRIMARY KEY,
  push_enabled           BOOLEAN NOT NULL DEFAULT FALSE
                         COMMENT '0: no pushes once the preferences were written; 1: pushes; 2: pushes, no write has named it',
  push_token             VARCHAR(512) NULL COMMENT 'as the app last sent it, opaque',
  preferred_models       TEXT NOT NULL DEFAULT '[]' COMMENT 'JSON array of at most 16 names',
  archive_cache_quota_mb SMALLINT UNSIGNED NOT NULL DEFAULT 512 COMMENT 'MiB',
  version                INT UNSIGNED NOT NULL DEFAULT 0 COMMENT '0: never written',
  last_updated_at        DATETIME(3) NOT NULL COMMENT 'UTC; while version is 0, when the device was registered',
  last_write_digest      BINARY(32) NULL COMMENT 'SHA-256 of the last change, to recognize it when it is sent again',
  last_write_base        INT UNSIGNED NULL COMMENT 'if_version of the last change',
  CONSTRAINT device_preferences_device FOREIGN KEY (device_id) REFERENCES devices (id) ON DELETE CASCADE,
  CONSTRAINT device_preferences_push_token_not_empty CHECK (CHAR_LENGTH(push_token) > 0),
  CONSTRAINT device_preferences_models_array
    CHECK (JSON_TYPE(preferred_models) = 'ARRAY' AND JSON_LENGTH(preferred_models) <= 16),
  CONSTRAINT device_preferences_quota CHECK (archive_cache_quota_mb BETWEEN 128 AND 4096)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- Attestation ------------------------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS attestation_challenges (
  id             UUID NOT NULL PRIMARY KEY COMMENT 'challenge_id',
  challenge_hash BINARY(32) NOT NULL COMMENT 'SHA-256 of the challenge; an attestation contains only this hash',
  bundle_id      VARCHAR(155) NOT NULL COMMENT 'of the app that asked for it',
  expires_at     DATETIME(3) NOT NULL COMMENT 'UTC',
  spent_at       DATETIME(3) NULL COMMENT 'UTC; first attempt, whatever its outcome',
  KEY attestation_challenges_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS attestation_keys (
  id             BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the public key; the apps send it in base64',
  public_key     BINARY(65) NOT NULL COMMENT 'uncompressed P-256 point; the private key stays in the phone',
  app_id         VARCHAR(190) NOT NULL COMMENT 'TeamID.BundleID',
  environment    ENUM('development', 'production') NOT NULL COMMENT 'TestFlight and the App Store are production',
  category       INT UNSIGNED NULL COMMENT 'of distribution, from iOS 27: 1 platform, 2 TestFlight, 3 development, 4 App Store, 5 enterprise or ad hoc, 6 Developer ID, 10 other',
  bundle_version VARCHAR(64) NULL COMMENT 'of the app, from iOS 27',
  receipt        BLOB NOT NULL COMMENT 'for questions to Apple about the device; not verified',
  counter        INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of the newest assertion; the next one must be greater',
  device_id      UUID NULL COMMENT 'the device that used the key last; no device of another phone may use it',
  attested_at    DATETIME(3) NOT NULL COMMENT 'UTC',
  bound_at       DATETIME(3) NULL COMMENT 'UTC; first assertion of a person who was signed in',
  KEY attestation_keys_device (device_id),
  KEY attestation_keys_unbound (bound_at, attested_at),
  CONSTRAINT attestation_keys_device FOREIGN KEY (device_id) REFERENCES devices (id) ON DELETE CASCADE,
  CONSTRAINT attestation_keys_public_key_form CHECK (LEFT(public_key, 1) = X'04'),
  CONSTRAINT attestation_keys_receipt_bounded CHECK (LENGTH(receipt) <= 16384),
  CONSTRAINT attestation_keys_bound_whole CHECK ((device_id IS NULL) = (bound_at IS NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Keys that were made by genuine apps, as Apple attests';

-- Push -------------------------------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS push_tokens (
  token         VARCHAR(512) NOT NULL PRIMARY KEY COMMENT 'case matters; one row and one owner, whichever endpoint brought it',
  device_id     UUID NOT NULL,
  platform      ENUM('ios', 'macos', 'android', 'web') NOT NULL COMMENT 'decides the channel; the token of a browser is web: and the id of its subscription',
  bundle_id     VARCHAR(155) NULL COMMENT 'of the app that registered the token, as it says; none: it did not say',
  registered_at DATETIME(3) NOT NULL COMMENT 'UTC; last registration, compared with the time that Apple gives for a dead token',
  KEY push_tokens_device (device_id),
  KEY push_tokens_registered (registered_at),
  CONSTRAINT push_tokens_device FOREIGN KEY (device_id) REFERENCES devices (id) ON DELETE CASCADE,
  CONSTRAINT push_tokens_form CHECK (token REGEXP '^[A-Za-z0-9:_.-]{20,512}\\z')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS web_subscriptions (
  token  VARCHAR(512) NOT NULL PRIMARY KEY COMMENT 'web: and a UUID made of the endpoint; whatever removes the push token removes the subscription',
  sealed VARCHAR(2500) NOT NULL COMMENT 'endpoint, key and secret of the browser, sealed for the companion alone; who knows them can write to the browser',
  KEY web_subscriptions_sealed (sealed(48)),
  CONSTRAINT web_subscriptions_token FOREIGN KEY (token) REFERENCES push_tokens (token) ON DELETE CASCADE,
  CONSTRAINT web_subscriptions_boxed CHECK (sealed LIKE 'box:%')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Browsers that take notifications (Web Push)';

-- Wallet -----------------------------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS banks (
  bsim_id           VARCHAR(64) NOT NULL PRIMARY KEY,
  name              VARCHAR(200) NOT NULL,
  logo_url          VARCHAR(2000) NULL,
  authorization_url VARCHAR(2000) NULL COMMENT 'where a person consents; none: the bank takes no enrollments',
  token_url         VARCHAR(2000) NULL COMMENT 'endpoint that exchanges a code (RFC 6749)',
  cards_url         VARCHAR(2000) NULL COMMENT 'endpoint that lists the person''s cards',
  client_id         VARCHAR(200) NULL COMMENT 'names this site to the bank',
  client_secret     VARCHAR(1000) NULL COMMENT 'sealed for the companion alone',
  scope             VARCHAR(500) NULL COMMENT 'what the person is asked to consent to: words with spaces between',
  CONSTRAINT banks_bsim_id_form CHECK (bsim_id REGEXP '^[A-Za-z0-9._-]+\\z'),
  CONSTRAINT banks_name_not_empty CHECK (CHAR_LENGTH(name) > 0),
  CONSTRAINT banks_connection_whole
    CHECK ((authorization_url IS NULL) = (token_url IS NULL) AND (token_url IS NULL) = (cards_url IS NULL)
           AND (cards_url IS NULL) = (client_id IS NULL) AND (client_id IS NULL) = (client_secret IS NULL)
           AND (client_secret IS NULL) = (scope IS NULL)),
  CONSTRAINT banks_urls
    CHECK (authorization_url REGEXP '^https?://[!-~]+\\z' AND token_url REGEXP '^https?://[!-~]+\\z'
           AND cards_url REGEXP '^https?://[!-~]+\\z')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS enrollments (
  id          UUID NOT NULL PRIMARY KEY,
  account_id  UUID NOT NULL,
  bsim_id     VARCHAR(64) NOT NULL,
  enrolled_at DATETIME(3) NOT NULL COMMENT 'UTC',
  removed_at  DATETIME(3) NULL COMMENT 'UTC; removed by its account, until the next enrollment',
  UNIQUE KEY enrollments_account_bank (account_id, bsim_id),
  CONSTRAINT enrollments_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  CONSTRAINT enrollments_bank FOREIGN KEY (bsim_id) REFERENCES banks (bsim_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS cards (
  id            UUID NOT NULL PRIMARY KEY,
  enrollment_id UUID NOT NULL,
  bank_card_id  VARCHAR(128) NULL COMMENT 'made by the bank',
  last_four     CHAR(4) NOT NULL,
  card_type     VARCHAR(20) NOT NULL COMMENT 'VISA, MASTERCARD, AMEX, DISCOVER, DEBIT',
  expiry_month  TINYINT UNSIGNED NULL COMMENT 'last month in which the card is valid',
  expiry_year   SMALLINT UNSIGNED NULL,
  is_default    BOOLEAN NOT NULL DEFAULT FALSE,
  active        BOOLEAN NOT NULL DEFAULT TRUE,
  added_at      DATETIME(3) NOT NULL COMMENT 'UTC',
  UNIQUE KEY cards_bank_card (enrollment_id, bank_card_id),
  KEY cards_enrollment (enrollment_id),
  CONSTRAINT cards_enrollment FOREIGN KEY (enrollment_id) REFERENCES enrollments (id) ON DELETE CASCADE,
  CONSTRAINT cards_last_four_digits CHECK (last_four REGEXP '^[0-9]{4}\\z'),
  CONSTRAINT cards_type_upper CHECK (card_type = UPPER(card_type) AND CHAR_LENGTH(card_type) > 0),
  CONSTRAINT cards_bank_card_id_not_empty CHECK (CHAR_LENGTH(bank_card_id) > 0),
  CONSTRAINT cards_default_is_active CHECK (active OR NOT is_default),
  CONSTRAINT cards_expiry
    CHECK ((expiry_month IS NULL) = (expiry_year IS NULL)
           AND (expiry_month IS NULL OR expiry_month BETWEEN 1 AND 12 AND expiry_year BETWEEN 2000 AND 2199))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS enrollment_states (
  id           UUID NOT NULL PRIMARY KEY COMMENT 'enrollmentId; the app gets it without its hyphens',
  state_hash   BINARY(32) NOT NULL COMMENT 'SHA-256 of the state that the bank sends back',
  nonce_hash   BINARY(32) NOT NULL COMMENT 'SHA-256 of the nonce that an id_token of the bank must name',
  verifier     VARCHAR(300) NOT NULL COMMENT 'code_verifier of PKCE, sealed for the companion alone',
  account_id   UUID NOT NULL,
  session_id   UUID NOT NULL COMMENT 'in which the enrollment began; the state ends with it',
  bsim_id      VARCHAR(64) NOT NULL,
  is_mobile    BOOLEAN NOT NULL COMMENT 'the callback answers the app, not a browser',
  expires_at   DATETIME(3) NOT NULL COMMENT 'UTC',
  spent_at     DATETIME(3) NULL COMMENT 'UTC; when the bank sent the person back',
  browser_hash BINARY(32) NULL COMMENT 'SHA-256 of the cookie of the browser that began it; none: the app began it',
  address      VARCHAR(45) NULL COMMENT 'of the caller that began it',
  result       VARCHAR(200) NULL COMMENT 'what the person was told, JSON; whoever comes back again is told the same',
  UNIQUE KEY enrollment_states_state (state_hash),
  KEY enrollment_states_expiry (expires_at),
  CONSTRAINT enrollment_states_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  CONSTRAINT enrollment_states_session FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE,
  CONSTRAINT enrollment_states_bank FOREIGN KEY (bsim_id) REFERENCES banks (bsim_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Enrollments that have begun: who was sent to which bank';

CREATE TABLE IF NOT EXISTS merchants (
  id             UUID NOT NULL PRIMARY KEY COMMENT 'aud of the payment statements that it gets',
  name           VARCHAR(200) NOT NULL,
  api_key_hash   BINARY(32) NOT NULL COMMENT 'SHA-256 of the API key',
  api_key_prefix VARCHAR(16) NOT NULL COMMENT 'first characters of the key, to recognize it',
  created_at     DATETIME(3) NOT NULL COMMENT 'UTC',
  revoked_at     DATETIME(3) NULL COMMENT 'UTC; the key is refused from then on',
  return_origins VARCHAR(2000) NOT NULL DEFAULT '' COMMENT 'that payments may return to, with spaces between',
  largest_amount DECIMAL(16, 4) NULL COMMENT 'of one payment; none: no limit',
  hourly_requests INT UNSIGNED NOT NULL DEFAULT 3600 COMMENT 'limit of its requests for payments',
  webhook_url    VARCHAR(2000) NULL COMMENT 'told of outcomes; none: not told',
  webhook_secret VARCHAR(500) NULL COMMENT 'sealed for the companion alone',
  old_webhook_secret VARCHAR(500) NULL COMMENT 'signs too, until old_webhook_secret_until',
  old_webhook_secret_until DATETIME(3) NULL COMMENT 'UTC',
  UNIQUE KEY merchants_api_key (api_key_hash),
  CONSTRAINT merchants_name_not_empty CHECK (CHAR_LENGTH(name) > 0),
  CONSTRAINT merchants_largest_amount_positive CHECK (largest_amount > 0),
  CONSTRAINT merchants_webhook_url_form CHECK (webhook_url REGEXP '^https?://[!-~]+\\z'),
  CONSTRAINT merchants_webhook_whole CHECK ((webhook_url IS NULL) = (webhook_secret IS NULL)),
  CONSTRAINT merchants_old_secret_whole CHECK ((old_webhook_secret IS NULL) = (old_webhook_secret_until IS NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS payments (
  id             VARCHAR(32) NOT NULL PRIMARY KEY COMMENT 'pay_ and 22 characters of base64url',
  merchant_id    UUID NOT NULL,
  account_id     UUID NULL COMMENT 'of the payer; none: not approved yet, or the account has been deleted',
  card_id        UUID NULL,
  amount         DECIMAL(16, 4) NOT NULL COMMENT 'in the unit of the currency',
  currency       CHAR(3) NOT NULL COMMENT 'ISO 4217',
  order_id       VARCHAR(200) NULL COMMENT 'made by the merchant',
  challenge_hash BINARY(32) NULL COMMENT 'SHA-256 of the challenge, which is derived from the row and a key',
  attempts       TINYINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'counted before a proof is verified',
  created_at     DATETIME(3) NOT NULL COMMENT 'UTC',
  expires_at     DATETIME(3) NOT NULL COMMENT 'UTC; not confirmed later',
  confirmed_at   DATETIME(3) NULL COMMENT 'UTC; at most once',
  confirmed_by   ENUM('biometric', 'passkey') NULL,
  is_request     BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'made by the merchant''s server, not by an app',
  description    VARCHAR(200) NULL COMMENT 'shown to the payer',
  items          TEXT NULL COMMENT 'JSON array of what is paid for, as the app shows it',
  return_url     VARCHAR(2000) NULL COMMENT 'page that the app opens afterward',
  approved_at    DATETIME(3) NULL COMMENT 'UTC; when a payer chose a card',
  cancelled_at   DATETIME(3) NULL COMMENT 'UTC',
  cancelled_by   ENUM('payer', 'merchant') NULL,
  refunded_at    DATETIME(3) NULL COMMENT 'UTC; as the merchant says',
  refund_reason  VARCHAR(200) NULL COMMENT 'as the merchant says',
  received_at    DATETIME(3) NULL COMMENT 'UTC; first verified by the merchant, or webhook delivered',
  expired_at     DATETIME(3) NULL COMMENT 'UTC; when the expiry was recorded',
  card_token     VARCHAR(64) NULL COMMENT 'name of the card at this merchant',
  proof_hash     BINARY(32) NULL COMMENT 'SHA-256 of the proof, which gets the same answer again',
  idempotency_hash BINARY(32) NULL COMMENT 'SHA-256 of the field Idempotency-Key',
  request_hash   BINARY(32) NULL COMMENT 'SHA-256 of the body that came with the key',
  open_until     DATETIME(3) AS (IF(confirmed_at IS NULL AND cancelled_at IS NULL AND expired_at IS NULL, expires_at, NULL))
                 VIRTUAL COMMENT 'UTC; expires_at while it is open',
  open_order     VARCHAR(200)
                 AS (IF(is_request AND confirmed_at IS NULL AND cancelled_at IS NULL AND expired_at IS NULL, order_id, NULL))
                 VIRTUAL COMMENT 'order_id while the request is open: one open request for an order',
  KEY payments_account (account_id),
  KEY payments_card (card_id),
  KEY payments_expiry (confirmed_at, expires_at),
  KEY payments_merchant (merchant_id, created_at),
  KEY payments_open (open_until),
  UNIQUE KEY payments_idempotency (merchant_id, idempotency_hash),
  UNIQUE KEY payments_open_order (merchant_id, open_order),
  CONSTRAINT payments_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id),
  CONSTRAINT payments_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE SET NULL,
  CONSTRAINT payments_card FOREIGN KEY (card_id) REFERENCES cards (id) ON DELETE SET NULL,
  CONSTRAINT payments_id_form CHECK (id REGEXP '^pay_[A-Za-z0-9_-]{22}\\z'),
  CONSTRAINT payments_amount_positive CHECK (amount > 0),
  CONSTRAINT payments_currency_form CHECK (currency REGEXP '^[A-Z]{3}\\z'),
  CONSTRAINT payments_order_id_not_empty CHECK (CHAR_LENGTH(order_id) > 0),
  CONSTRAINT payments_attempts CHECK (attempts <= 5),
  CONSTRAINT payments_confirmed_whole CHECK ((confirmed_at IS NULL) = (confirmed_by IS NULL)),
  CONSTRAINT payments_approved_with_challenge CHECK (approved_at IS NULL OR challenge_hash IS NOT NULL),
  CONSTRAINT payments_confirmed_with_challenge CHECK (confirmed_at IS NULL OR challenge_hash IS NOT NULL),
  CONSTRAINT payments_cancelled_whole CHECK ((cancelled_at IS NULL) = (cancelled_by IS NULL)),
  CONSTRAINT payments_one_outcome
    CHECK ((confirmed_at IS NOT NULL) + (cancelled_at IS NOT NULL) + (expired_at IS NOT NULL) <= 1),
  CONSTRAINT payments_refund_of_confirmed CHECK (refunded_at IS NULL OR confirmed_at IS NOT NULL),
  CONSTRAINT payments_receipt_of_confirmed CHECK (received_at IS NULL OR confirmed_at IS NOT NULL),
  CONSTRAINT payments_request_has_order CHECK (NOT is_request OR order_id IS NOT NULL),
  CONSTRAINT payments_idempotency_whole CHECK ((idempotency_hash IS NULL) = (request_hash IS NULL)),
  CONSTRAINT payments_items_array CHECK (JSON_VALID(items) AND items LIKE '[%]')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS webhooks (
  id          UUID NOT NULL PRIMARY KEY COMMENT 'webhook-id: the same at each attempt',
  payment_id  VARCHAR(32) NOT NULL,
  merchant_id UUID NOT NULL,
  event       ENUM('payment.confirmed', 'payment.cancelled', 'payment.expired', 'payment.refunded') NOT NULL,
  state       ENUM('open', 'delivered', 'dead') NOT NULL DEFAULT 'open' COMMENT 'dead: given up, see reason',
  due_at      DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
              COMMENT 'UTC, the database''s clock; next attempt; while it is claimed, the end of the lease',
  expires_at  DATETIME(3) NOT NULL COMMENT 'UTC, the database''s clock; not sent later',
  attempts    SMALLINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'counted when claimed',
  claim_id    UUID NULL COMMENT 'of the last pass that claimed it',
  status      SMALLINT UNSIGNED NULL COMMENT 'HTTP status of the last answer; none: no answer',
  reason      VARCHAR(200) NULL COMMENT 'why the last attempt failed',
  created_at  DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) COMMENT 'UTC, the database''s clock',
  finished_at DATETIME(3) NULL COMMENT 'UTC, the database''s clock',
  UNIQUE KEY webhooks_once (payment_id, event),
  KEY webhooks_due (state, due_at),
  KEY webhooks_claim (claim_id),
  KEY webhooks_merchant (merchant_id, created_at),
  CONSTRAINT webhooks_payment FOREIGN KEY (payment_id) REFERENCES payments (id) ON DELETE CASCADE,
  CONSTRAINT webhooks_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id),
  CONSTRAINT webhooks_closed_whole CHECK ((state = 'open') = (finished_at IS NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Outcomes of payments that merchants are told';

CREATE TABLE IF NOT EXISTS card_tokens (
  card_id     UUID NOT NULL,
  merchant_id UUID NOT NULL,
  token       VARCHAR(64) NOT NULL COMMENT 'name of the card at this merchant; gives no access',
  PRIMARY KEY (card_id, merchant_id),
  CONSTRAINT card_tokens_card FOREIGN KEY (card_id) REFERENCES cards (id) ON DELETE CASCADE,
  CONSTRAINT card_tokens_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- Pairing ----------------------------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS pairing_tokens (
  nonce      CHAR(16) NOT NULL PRIMARY KEY COMMENT 'base64url; gives no access without the key that signs tokens',
  issued_at  DATETIME(3) NOT NULL COMMENT 'UTC, whole seconds',
  expires_at DATETIME(3) NOT NULL COMMENT 'UTC, whole seconds',
  spent_at   DATETIME(3) NULL COMMENT 'UTC; when a phone exchanged it',
  revoked_at DATETIME(3) NULL COMMENT 'UTC',
  KEY pairing_tokens_open (spent_at, revoked_at),
  KEY pairing_tokens_expiry (expires_at),
  CONSTRAINT pairing_tokens_nonce_form CHECK (nonce REGEXP '^[A-Za-z0-9_-]{16}\\z'),
  CONSTRAINT pairing_tokens_expiry_later CHECK (expires_at > issued_at),
  CONSTRAINT pairing_tokens_one_end CHECK (spent_at IS NULL OR revoked_at IS NULL)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='What the QR codes contain; each pairs one phone';

CREATE TABLE IF NOT EXISTS pairing_server (
  id            TINYINT UNSIGNED NOT NULL DEFAULT 1 PRIMARY KEY,
  session       UUID NOT NULL COMMENT 'names this site to the apps',
  server_id     CHAR(16) NOT NULL COMMENT 'base64url; in every token',
  current_nonce CHAR(16) NULL COMMENT 'of the pairing token that is shown now',
  CONSTRAINT pairing_server_is_one_row CHECK (id = 1),
  CONSTRAINT pairing_server_id_form CHECK (server_id REGEXP '^[A-Za-z0-9_-]{16}\\z'),
  CONSTRAINT pairing_server_current FOREIGN KEY (current_nonce) REFERENCES pairing_tokens (nonce) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS pairings (
  id           UUID NOT NULL PRIMARY KEY COMMENT 'device_id of the tokens; one exchange, one family of refresh tokens',
  user_agent   VARCHAR(200) NOT NULL COMMENT 'as the app says',
  name         VARCHAR(64) NOT NULL DEFAULT '' COMMENT 'given by whoever manages the phones; empty: user_agent names it',
  address      VARCHAR(45) NOT NULL COMMENT 'of the phone when it was paired, as the web server reported it',
  generation   INT UNSIGNED NOT NULL DEFAULT 1 COMMENT 'of the newest refresh token',
  branch       INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'of the newest refresh token, as in sessions',
  first_branch INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'branch with which the generation began',
  confirmed    BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'an access token of the newest branch has been used',
  paired_at    DATETIME(3) NOT NULL COMMENT 'UTC',
  last_used_at DATETIME(3) NOT NULL COMMENT 'UTC; first use of the newest access token, so up to 15 minutes old',
  rotated_at   DATETIME(3) NOT NULL COMMENT 'UTC; when the newest refresh token was issued',
  answered_at  DATETIME(3) NULL COMMENT 'UTC; when it was given out again; none: only when it was issued',
  rotated_from VARCHAR(45) NOT NULL DEFAULT '' COMMENT 'network that asked for it; empty: unknown',
  expires_at   DATETIME(3) NOT NULL COMMENT 'UTC; of the newest refresh token',
  ended_at     DATETIME(3) NULL COMMENT 'UTC',
  end_reason   ENUM('phone', 'revoke_all', 'administrator', 'reuse') NULL COMMENT 'who ended it; reuse: a copy of its token was used',
  KEY pairings_live (ended_at, expires_at),
  KEY pairings_expiry (expires_at),
  CONSTRAINT pairings_generation CHECK (generation > 0),
  CONSTRAINT pairings_end_whole CHECK ((ended_at IS NULL) = (end_reason IS NULL)),
  CONSTRAINT pairings_expiry_later CHECK (expires_at > rotated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Phones that may reach the agent';

CREATE TABLE IF NOT EXISTS pairing_tickets (
  ticket_hash BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the ticket',
  pairing_id  UUID NULL COMMENT 'of the phone that owns it',
  nonce       CHAR(16) NULL COMMENT 'of the pairing token for which it was issued, if no phone was paired',
  expires_at  DATETIME(3) NOT NULL COMMENT 'UTC',
  spent_at    DATETIME(3) NULL COMMENT 'UTC',
  KEY pairing_tickets_pairing (pairing_id),
  KEY pairing_tickets_nonce (nonce),
  KEY pairing_tickets_expiry (expires_at),
  CONSTRAINT pairing_tickets_pairing FOREIGN KEY (pairing_id) REFERENCES pairings (id) ON DELETE CASCADE,
  CONSTRAINT pairing_tickets_token FOREIGN KEY (nonce) REFERENCES pairing_tokens (nonce) ON DELETE CASCADE,
  CONSTRAINT pairing_tickets_one_owner CHECK ((pairing_id IS NULL) <> (nonce IS NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Used once, in place of a token, in a URL';

-- Turns ------------------------------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS ogs_users (
  id               BIGINT UNSIGNED NOT NULL PRIMARY KEY COMMENT 'at online-go.com',
  created_at       DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) COMMENT 'UTC, the database''s clock; first registration',
  due_at           DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
                   COMMENT 'UTC, the database''s clock; next poll; during a poll, the end of its lease',
  claim_id         UUID NULL COMMENT 'of the poll that is running',
  interval_seconds INT UNSIGNED NOT NULL DEFAULT 30 COMMENT 'seconds; grows while nothing changes',
  moved_at         DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) COMMENT 'UTC, the database''s clock; last poll that saw something new',
  asked_at         DATETIME(3) NULL COMMENT 'UTC, the database''s clock; last request of the user''s app, not kept more often than once in the shortest interval',
  failures         INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'in a row',
  failure          VARCHAR(200) NULL COMMENT 'why the last poll failed',
  checked_at       DATETIME(3) NULL COMMENT 'UTC, the database''s clock; last poll that succeeded',
  active_games     INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'seen by the last poll',
  entity_tag       VARCHAR(200) NULL COMMENT 'ETag of the last answer, if it had one',
  KEY ogs_users_due (due_at),
  KEY ogs_users_claim (claim_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS ogs_registrations (
  ogs_user_id      BIGINT UNSIGNED NOT NULL,
  device_token     VARCHAR(512) NOT NULL COMMENT 'of Apple: lower-case hex; of a browser: web: and the id of its subscription',
  channel          VARCHAR(20) NOT NULL DEFAULT 'apns' COMMENT 'the way it is sent: apns, fcm or webpush',
  sealed           VARCHAR(2500) NULL COMMENT 'of a browser: endpoint, key and secret, sealed for the companion alone',
  language         ENUM('en', 'de', 'fr', 'es', 'fa') NULL COMMENT 'of the texts, as the device asked; none: English',
  quiet_from       SMALLINT UNSIGNED NULL COMMENT 'minutes after midnight; none: the quiet hours of the user hold',
  quiet_to         SMALLINT UNSIGNED NULL COMMENT 'minutes after midnight; before quiet_from: on the next day',
  time_zone        VARCHAR(64) NULL COMMENT 'of these quiet hours; none: that of the user',
  bundle_id        VARCHAR(155) NULL COMMENT 'of the app that registered the token, as it says; none: it did not say',
  registered_at    DATETIME(3) NOT NULL COMMENT 'UTC; last registration',
  last_notified_at DATETIME(3) NULL COMMENT 'UTC; when a notification of this user was last delivered to it',
  untold           MEDIUMTEXT NULL
                   COMMENT 'JSON array of [game, last_move]: turns whose notification was given up before the device had it; the next poll tells what still waits',
  PRIMARY KEY (ogs_user_id, device_token),
  KEY ogs_registrations_token (device_token),
  KEY ogs_registrations_sealed (sealed(48)),
  KEY ogs_registrations_registered (registered_at),
  CONSTRAINT ogs_registrations_user FOREIGN KEY (ogs_user_id) REFERENCES ogs_users (id) ON DELETE CASCADE,
  CONSTRAINT ogs_registrations_token_of_channel
    CHECK (device_token REGEXP IF(channel = 'apns', '^[0-9a-f]{64,400}\\z', '^[A-Za-z0-9:_.-]{20,512}\\z')),
  CONSTRAINT ogs_registrations_browser_sealed CHECK ((channel = 'webpush') = (sealed IS NOT NULL)),
  CONSTRAINT ogs_registrations_boxed CHECK (sealed LIKE 'box:%'),
  CONSTRAINT ogs_registrations_quiet_whole CHECK ((quiet_from IS NULL) = (quiet_to IS NULL)),
  CONSTRAINT ogs_registrations_minutes CHECK (quiet_from < 1440 AND quiet_to < 1440 AND quiet_from <> quiet_to)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS ogs_games (
  ogs_user_id    BIGINT UNSIGNED NOT NULL,
  game_id        BIGINT UNSIGNED NOT NULL,
  position       INT UNSIGNED NOT NULL COMMENT 'in the order of online-go.com',
  name           VARCHAR(500) NOT NULL,
  last_move      BIGINT NOT NULL COMMENT 'Unix milliseconds',
  current_player BIGINT UNSIGNED NOT NULL COMMENT 'who must act; while stones are removed, the user until they accept; 0: no player',
  is_running     BOOLEAN NOT NULL COMMENT 'in play or removing stones, and not paused',
  notified_move  BIGINT NOT NULL DEFAULT 0 COMMENT 'Unix milliseconds; the last_move of the last notification to the user',
  clock_move     BIGINT NOT NULL DEFAULT 0 COMMENT 'Unix milliseconds; the last_move for which the user was told that the clock runs out',
  is_silent      BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'the user wants to hear nothing of it: muted, or live',
  PRIMARY KEY (ogs_user_id, game_id),
  KEY ogs_games_game (game_id),
  CONSTRAINT ogs_games_user FOREIGN KEY (ogs_user_id) REFERENCES ogs_users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='The active games of each user as the last poll saw them; finished games are deleted';

CREATE TABLE IF NOT EXISTS ogs_devices (
  device_token VARCHAR(512) NOT NULL PRIMARY KEY,
  badge        INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'the number on the app''s icon, as it was last delivered',
  delivery_id  UUID NULL COMMENT 'the last notification of turns that was written for it',
  badge_at     DATETIME(3) NULL COMMENT 'UTC, the database''s clock; when a badge alone was last written for it',
  is_stale     BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'a user is not registered for it any more: the badge is to be looked at',
  KEY ogs_devices_stale (is_stale)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='What the devices of players show';

CREATE TABLE IF NOT EXISTS turn_alerts (
  ogs_user_id  BIGINT UNSIGNED NOT NULL,
  device_token VARCHAR(512) NOT NULL,
  collapse_id  VARCHAR(64) NOT NULL COMMENT 'by which the app finds the notification',
  kind         ENUM('turn', 'clock') NOT NULL,
  games        TEXT NOT NULL COMMENT 'JSON array of the games it tells of, with the last move: [[id, Unix milliseconds], …]',
  shown_at     DATETIME(3) NOT NULL COMMENT 'UTC, the database''s clock; last delivery',
  PRIMARY KEY (ogs_user_id, device_token, collapse_id),
  KEY turn_alerts_shown (shown_at),
  CONSTRAINT turn_alerts_games_array CHECK (JSON_TYPE(games) = 'ARRAY')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Notifications that phones show to players: each goes, and its phone is told so, when none of its games waits';

CREATE TABLE IF NOT EXISTS turn_settings (
  ogs_user_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  quiet_from  SMALLINT UNSIGNED NULL COMMENT 'minutes after midnight; NULL: no quiet hours',
  quiet_to    SMALLINT UNSIGNED NULL COMMENT 'minutes after midnight; before quiet_from: on the next day',
  time_zone   VARCHAR(64) NOT NULL DEFAULT 'UTC' COMMENT 'of the quiet hours; a name such as Europe/Berlin',
  kinds       SET('turn', 'game_ended', 'clock') NOT NULL DEFAULT 'turn' COMMENT 'what the user is told of',
  live_games  BOOLEAN NOT NULL DEFAULT TRUE COMMENT 'whether of games with less than an hour for a move too',
  muted_games TEXT NOT NULL DEFAULT '[]' COMMENT 'JSON array of game ids',
  changed_at  DATETIME(3) NOT NULL COMMENT 'UTC',
  KEY turn_settings_changed (changed_at),
  CONSTRAINT turn_settings_quiet_whole CHECK ((quiet_from IS NULL) = (quiet_to IS NULL)),
  CONSTRAINT turn_settings_minutes CHECK (quiet_from < 1440 AND quiet_to < 1440 AND quiet_from <> quiet_to),
  CONSTRAINT turn_settings_muted_array CHECK (JSON_TYPE(muted_games) = 'ARRAY')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='What players want to be told of; without a row the defaults hold';

CREATE TABLE IF NOT EXISTS ogs_pause (
  id            TINYINT UNSIGNED NOT NULL DEFAULT 1 PRIMARY KEY,
  refused_users VARCHAR(100) NOT NULL DEFAULT '[]' COMMENT 'JSON array: users refused in a row, at most three',
  pauses        INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'in a row; each is longer than the one before',
  paused_until  DATETIME(3) NULL COMMENT 'UTC, the database''s clock; no polls before',
  CONSTRAINT ogs_pause_is_one_row CHECK (id = 1),
  CONSTRAINT ogs_pause_refused_array CHECK (JSON_TYPE(refused_users) = 'ARRAY')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='online-go.com refuses polls by address: after three users refused in a row, all polls pause';

CREATE TABLE IF NOT EXISTS api_keys (
  key_hash    BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the key',
  key_prefix  CHAR(8) NOT NULL COMMENT 'first characters of the key, to recognize it',
  ogs_user_id BIGINT UNSIGNED NOT NULL,
  description VARCHAR(200) NOT NULL,
  created_at  DATETIME(3) NOT NULL COMMENT 'UTC',
  revoked_at  DATETIME(3) NULL COMMENT 'UTC; by a newer key with the same user and description, or by an administrator',
  KEY api_keys_user (ogs_user_id, description),
  KEY api_keys_revoked (revoked_at),
  CONSTRAINT api_keys_description_not_empty CHECK (CHAR_LENGTH(description) > 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- Operations: work of the companion for all rooms, its status, limits and the audit log ------------------------------

CREATE TABLE IF NOT EXISTS outbox (
  id          UUID NOT NULL PRIMARY KEY,
  kind        ENUM('login_code', 'email_confirmation', 'new_device', 'passkey_added', 'biometric_key_added',
                   'refresh_reused', 'address_change', 'address_changed', 'device_renewed', 'account_deleted',
                   'browser_signed_in', 'keys_removed', 'account_banned', 'account_unbanned',
                   'address_change_begun', 'address_proven') NOT NULL,
  recipient   VARCHAR(254) NOT NULL COMMENT 'e-mail address',
  sealed      VARCHAR(2000) NULL COMMENT 'secret part of the message, sealed for the companion alone; deleted when the row is closed',
  state       ENUM('open', 'delivered', 'dead', 'suppressed') NOT NULL DEFAULT 'open'
              COMMENT 'suppressed: not sent, because no account has this address; dead: given up, see reason',
  due_at      DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
              COMMENT 'UTC, the database''s clock; next attempt; while it is claimed, the end of the lease',
  expires_at  DATETIME(3) NOT NULL COMMENT 'UTC, the database''s clock; not sent later',
  attempts    SMALLINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'counted when claimed',
  claim_id    UUID NULL COMMENT 'of the last pass that claimed it',
  reason      VARCHAR(200) NULL COMMENT 'why the last attempt failed',
  request_id  VARCHAR(64) NOT NULL COMMENT 'of the request that asked for it',
  created_at  DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) COMMENT 'UTC, the database''s clock',
  finished_at DATETIME(3) NULL COMMENT 'UTC, the database''s clock',
  account_id  UUID NULL COMMENT 'whose mail it is: it goes with the account; none: no account',
  KEY outbox_due (state, due_at),
  KEY outbox_finished (finished_at),
  KEY outbox_account (account_id),
  CONSTRAINT outbox_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  CONSTRAINT outbox_closed_whole CHECK ((state = 'open') = (finished_at IS NULL)),
  CONSTRAINT outbox_closed_wiped CHECK (state = 'open' OR sealed IS NULL)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Mails';

CREATE TABLE IF NOT EXISTS jobs (
  id          UUID NOT NULL PRIMARY KEY,
  kind        ENUM('push_test', 'turn_check', 'bank_enrollment') NOT NULL,
  request     MEDIUMTEXT NOT NULL COMMENT 'JSON: what to do',
  state       ENUM('open', 'done', 'dead') NOT NULL DEFAULT 'open' COMMENT 'dead: given up without a result',
  due_at      DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) COMMENT 'UTC, the database''s clock; while it is claimed, the end of the lease',
  attempts    SMALLINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'counted when claimed',
  claim_id    UUID NULL COMMENT 'of the last pass that claimed it',
  result      MEDIUMTEXT NULL COMMENT 'JSON: the outcome',
  request_id  VARCHAR(64) NOT NULL COMMENT 'of the request that waits for it',
  created_at  DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) COMMENT 'UTC, the database''s clock',
  finished_at DATETIME(3) NULL COMMENT 'UTC, the database''s clock',
  account_id  UUID NULL COMMENT 'for whom it is done: it goes with the account; none: no account',
  KEY jobs_due (state, due_at),
  KEY jobs_finished (finished_at),
  KEY jobs_account (account_id),
  CONSTRAINT jobs_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  CONSTRAINT jobs_request_json CHECK (JSON_VALID(request)),
  CONSTRAINT jobs_result_json CHECK (JSON_VALID(result)),
  CONSTRAINT jobs_closed_whole CHECK ((state = 'open') = (finished_at IS NULL)),
  CONSTRAINT jobs_done_has_result CHECK ((state = 'done') = (result IS NOT NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Work for the companion; a request waits for the outcome';

CREATE TABLE IF NOT EXISTS notifications (
  id            UUID NOT NULL PRIMARY KEY,
  kind          ENUM('turn', 'account', 'badge', 'clock', 'game_ended') NOT NULL,
  event_key     VARCHAR(200) NOT NULL COMMENT 'names the event: a repeated poll makes no second notification of it',
  collapse_id   VARCHAR(64) NOT NULL COMMENT 'a device shows only the newest of those that share it',
  title         VARCHAR(200) NULL,
  body          TEXT NULL COMMENT 'neither title nor body: shows nothing',
  badge         INT UNSIGNED NULL COMMENT 'the number on the app''s icon; none: it stays',
  sound         VARCHAR(64) NULL,
  thread        VARCHAR(64) NULL COMMENT 'devices group those that share it',
  category      VARCHAR(64) NULL COMMENT 'the app''s group of actions',
  is_urgent     BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'breaks through a Focus',
  data          TEXT NULL COMMENT 'JSON object with values for the app',
  created_at    DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) COMMENT 'UTC, the database''s clock',
  expires_at    DATETIME(3) NOT NULL COMMENT 'UTC, the database''s clock; neither sent nor kept by Apple later',
  account_id    UUID NULL COMMENT 'whom it tells: it goes with the account; none: no account',
  UNIQUE KEY notifications_event (event_key),
  KEY notifications_created (created_at),
  KEY notifications_account (account_id),
  CONSTRAINT notifications_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  CONSTRAINT notifications_size CHECK (LENGTH(CONCAT_WS('', title, body, data)) <= 4096),
  CONSTRAINT notifications_data_object CHECK (JSON_VALID(data) AND data LIKE '{"%}')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='The content, once; each device that gets it has a delivery';

CREATE TABLE IF NOT EXISTS deliveries (
  id              UUID NOT NULL PRIMARY KEY COMMENT 'apns-id',
  notification_id UUID NOT NULL,
  token           VARCHAR(512) NOT NULL,
  bundle_id       VARCHAR(155) NULL COMMENT 'of the app that registered the token, as it says; none: it did not say',
  channel         VARCHAR(20) NOT NULL DEFAULT 'apns' COMMENT 'the way it is sent',
  shard           TINYINT UNSIGNED NOT NULL COMMENT 'of the lease that covers it',
  state           ENUM('open', 'delivered', 'dead') NOT NULL DEFAULT 'open' COMMENT 'dead: given up, see reason',
  due_at          DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) COMMENT 'UTC, the database''s clock; next attempt',
  attempts        SMALLINT UNSIGNED NOT NULL DEFAULT 0,
  losses          TINYINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'attempts whose sender ended without an outcome; given up after five',
  status          SMALLINT UNSIGNED NULL COMMENT 'HTTP status of the last answer; none: no answer',
  reason          VARCHAR(64) NULL COMMENT 'word of the last answer, or ours in lower case',
  finished_at     DATETIME(3) NULL COMMENT 'UTC, the database''s clock',
  UNIQUE KEY deliveries_once (notification_id, token),
  KEY deliveries_due (channel, shard, state, due_at), -- another key, on finished_at, made recording a fifth slower
  CONSTRAINT deliveries_notification FOREIGN KEY (notification_id) REFERENCES notifications (id) ON DELETE CASCADE,
  CONSTRAINT deliveries_shard CHECK (shard < 16),
  CONSTRAINT deliveries_closed_whole CHECK ((state = 'open') = (finished_at IS NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='One notification to one device';

CREATE TABLE IF NOT EXISTS turn_notices (
  notification_id UUID NOT NULL PRIMARY KEY,
  ogs_user_id     BIGINT UNSIGNED NULL COMMENT 'NULL: a badge alone, which is of all users of the device',
  games           TEXT NOT NULL COMMENT 'JSON array of the games it tells of, with the last move: [[id, Unix milliseconds], …]',
  badge           INT UNSIGNED NOT NULL COMMENT 'the number that it puts on the app''s icon',
  created_at      DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) COMMENT 'UTC, the database''s clock',
  KEY turn_notices_user (ogs_user_id, created_at),
  CONSTRAINT turn_notices_notification FOREIGN KEY (notification_id) REFERENCES notifications (id) ON DELETE CASCADE,
  CONSTRAINT turn_notices_games_array CHECK (JSON_TYPE(games) = 'ARRAY')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='What notifications to players tell, so that what is over by now can be withdrawn';

CREATE TABLE IF NOT EXISTS delivery_leases (
  channel      VARCHAR(20) NOT NULL DEFAULT 'apns',
  shard        TINYINT UNSIGNED NOT NULL,
  claim_id     UUID NULL COMMENT 'of the last pass that claimed it',
  leased_until DATETIME(3) NOT NULL DEFAULT '1970-01-01' COMMENT 'UTC, the database''s clock',
  batch        MEDIUMTEXT NOT NULL DEFAULT '[]'
               COMMENT 'JSON array of the deliveries being sent; they count as attempted if the lease ends without their outcome',
  PRIMARY KEY (channel, shard),
  CONSTRAINT delivery_leases_shard CHECK (shard < 16),
  CONSTRAINT delivery_leases_batch_array CHECK (JSON_TYPE(batch) = 'ARRAY')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Who sends which deliveries: one row for each channel and shard, claimed before the work begins';

CREATE TABLE IF NOT EXISTS provider_tokens (
  team_id    VARCHAR(20) NOT NULL COMMENT 'Apple counts new tokens by team',
  key_id     VARCHAR(20) NOT NULL,
  sealed     VARCHAR(1000) NULL COMMENT 'sealed for the companion alone; who knows the token can send for an hour',
  issued_at  DATETIME(3) NULL COMMENT 'UTC, the database''s clock',
  generation INT UNSIGNED NOT NULL DEFAULT 0,
  PRIMARY KEY (team_id, key_id),
  CONSTRAINT provider_tokens_whole CHECK ((sealed IS NULL) = (issued_at IS NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS apns_hosts (
  token       VARCHAR(512) NOT NULL,
  topic       VARCHAR(255) NOT NULL COMMENT 'bundle id of the app',
  environment ENUM('production', 'sandbox') NOT NULL COMMENT 'host of Apple that took a notification after the other had refused it',
  learned_at  DATETIME(3) NOT NULL COMMENT 'UTC; compared with the time that Apple gives for a dead token',
  PRIMARY KEY (token, topic),
  KEY apns_hosts_learned (learned_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Where Apple takes notifications to a token, for all rooms';

CREATE TABLE IF NOT EXISTS fcm_access_tokens (
  account       VARCHAR(255) NOT NULL PRIMARY KEY COMMENT 'e-mail address of the service account',
  sealed        VARCHAR(4000) NULL COMMENT 'Google''s access token, sealed for the companion alone; who knows the token can send for an hour',
  expires_at    DATETIME(3) NULL COMMENT 'UTC, the database''s clock',
  generation    INT UNSIGNED NOT NULL DEFAULT 0,
  claim_id      UUID NULL COMMENT 'of the process that asks for a token',
  claimed_until DATETIME(3) NOT NULL DEFAULT '1970-01-01' COMMENT 'UTC, the database''s clock; until then no other process asks',
  CONSTRAINT fcm_access_tokens_whole CHECK ((sealed IS NULL) = (expires_at IS NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS dead_tokens (
  token      VARCHAR(512) NOT NULL PRIMARY KEY,
  removed_at DATETIME(3) NOT NULL COMMENT 'UTC, the database''s clock',
  KEY dead_tokens_removed (removed_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Device tokens that were removed because their channel called them dead, to say so to whoever asks';

CREATE TABLE IF NOT EXISTS companion_status (
  host         VARCHAR(64) NOT NULL PRIMARY KEY,
  version      VARCHAR(32) NOT NULL,
  last_pass_at DATETIME(3) NOT NULL COMMENT 'UTC, the database''s clock; end of the last whole pass',
  missing      VARCHAR(1000) NOT NULL DEFAULT '' COMMENT 'names of the missing variables that keep something from being sent',
  pass_interval INT UNSIGNED NOT NULL DEFAULT 30 COMMENT 'seconds from the beginning of a pass to that of the next',
  pass_milliseconds INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'milliseconds that the last whole pass took'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS purge_places (
  rule VARCHAR(40) NOT NULL PRIMARY KEY COMMENT 'of retention, which looks at some of its rows each time',
  at   DATETIME(3) NOT NULL COMMENT 'UTC; of the last row that it has looked at',
  id   UUID NOT NULL COMMENT 'of that row'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS problems (
  host    VARCHAR(64) NOT NULL COMMENT 'of the companion that looked',
  name    VARCHAR(40) NOT NULL COMMENT 'what it looked at: mail, apns, …',
  subject VARCHAR(64) NOT NULL DEFAULT '' COMMENT 'which one, where there are several: the id of a bank, …',
  reason  VARCHAR(400) NOT NULL DEFAULT '' COMMENT 'why it fails; empty where all is well',
  since   DATETIME(3) NOT NULL COMMENT 'UTC, the database''s clock; when it began to fail, or to be well again',
  seen_at DATETIME(3) NOT NULL COMMENT 'UTC, the database''s clock; when the companion last looked',
  PRIMARY KEY (host, name, subject)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='What companions found, well or failing; of no interest a day after the last look';

CREATE TABLE IF NOT EXISTS counters (
  host    VARCHAR(64) NOT NULL COMMENT 'of the companion that counts',
  name    VARCHAR(40) NOT NULL COMMENT 'what is counted: mails, deliveries, polls, jobs',
  outcome VARCHAR(64) NOT NULL,
  total   BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'since the row was made',
  PRIMARY KEY (host, name, outcome)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS health (
  id         TINYINT UNSIGNED NOT NULL DEFAULT 1 PRIMARY KEY,
  written_at DATETIME(3) NOT NULL DEFAULT '1970-01-01' COMMENT 'UTC, the database''s clock; last look of GET /health that wrote',
  full_at    DATETIME(3) NOT NULL DEFAULT '1970-01-01' COMMENT 'UTC, the database''s clock; when a program last found no room for a row',
  CONSTRAINT health_is_one_row CHECK (id = 1)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='Written at most once a second, to see whether the database can be written';

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

CREATE TABLE IF NOT EXISTS job_limits (
  name              VARCHAR(40) NOT NULL COMMENT 'of the limit',
  subject           VARCHAR(64) NOT NULL COMMENT 'who is counted: an account, a user at online-go.com, or site',
  window_started_at DATETIME(3) NOT NULL COMMENT 'UTC, the database''s clock',
  hits              INT UNSIGNED NOT NULL COMMENT 'in this window',
  PRIMARY KEY (name, subject),
  KEY job_limits_window (window_started_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT='What the companion does for requests, counted by itself: the responder can change rate_limits, and not this';

CREATE TABLE IF NOT EXISTS audit_log (
  id                 BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  at                 DATETIME(3) NOT NULL COMMENT 'UTC',
  event              VARCHAR(40) NOT NULL,
  account_id         UUID NULL COMMENT 'stays when the account is deleted',
  device_id          UUID NULL,
  request_id         VARCHAR(64) NOT NULL,
  address            VARCHAR(45) NOT NULL COMMENT 'of the caller, as the web server reported it',
  detail             VARCHAR(200) NULL,
  platform           VARCHAR(20) NULL COMMENT 'as the app says',
  bundle_id          VARCHAR(128) NULL COMMENT 'as the app says',
  app_version        VARCHAR(32) NULL COMMENT 'as the app says',
  attestation        ENUM('none', 'stub', 'unverified', 'verified', 'refused') NULL
                     COMMENT 'unverified: the app sent an assertion that was not checked',
  attestation_reason VARCHAR(40) NULL COMMENT 'why the assertion was refused, or would have been',
  KEY audit_log_at (at),
  KEY audit_log_account (account_id, at),
  KEY audit_log_device (device_id, at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

-- Upgrade ----------------------------------------------------------------------------------------------------------
--
-- A step for version N begins with IF @found < N, and may run again. Name the algorithm (INSTANT, NOCOPY, or INPLACE with
-- LOCK=NONE), so that MariaDB refuses to copy or lock a table. Announce a step that copies one before the first step:
--   SELECT CONCAT('Not online: about ', TABLE_ROWS, ' rows of ', TABLE_NAME, ' are copied; writes to it wait') AS upgrade
--     FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '…' AND @found < N;

SELECT CONCAT('Not online: about ', TABLE_ROWS, ' rows of ', TABLE_NAME, ' are copied; writes to it wait') AS upgrade
  FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('payments', 'merchants') AND @found < 2;

DELIMITER //
IF @found < 2 THEN
  -- Requests of merchants, outcomes and webhooks.
  ALTER TABLE merchants
    ADD COLUMN IF NOT EXISTS return_origins VARCHAR(2000) NOT NULL DEFAULT '' COMMENT 'that payments may return to, with spaces between',
    ADD COLUMN IF NOT EXISTS largest_amount DECIMAL(16, 4) NULL COMMENT 'of one payment; none: no limit',
    ADD COLUMN IF NOT EXISTS hourly_requests INT UNSIGNED NOT NULL DEFAULT 3600 COMMENT 'limit of its requests for payments',
    ADD COLUMN IF NOT EXISTS webhook_url VARCHAR(2000) NULL COMMENT 'told of outcomes; none: not told',
    ADD COLUMN IF NOT EXISTS webhook_secret VARCHAR(500) NULL COMMENT 'sealed for the companion alone',
    ADD COLUMN IF NOT EXISTS old_webhook_secret VARCHAR(500) NULL COMMENT 'signs too, until old_webhook_secret_until',
    ADD COLUMN IF NOT EXISTS old_webhook_secret_until DATETIME(3) NULL COMMENT 'UTC',
    ADD CONSTRAINT IF NOT EXISTS merchants_largest_amount_positive CHECK (largest_amount > 0),
    ADD CONSTRAINT IF NOT EXISTS merchants_webhook_url_form CHECK (webhook_url REGEXP '^https?://[!-~]+\\z'),
    ADD CONSTRAINT IF NOT EXISTS merchants_webhook_whole CHECK ((webhook_url IS NULL) = (webhook_secret IS NULL)),
    ADD CONSTRAINT IF NOT EXISTS merchants_old_secret_whole
      CHECK ((old_webhook_secret IS NULL) = (old_webhook_secret_until IS NULL)),
    ALGORITHM = COPY;
  ALTER TABLE payments
    ADD COLUMN IF NOT EXISTS is_request BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'made by the merchant''s server, not by an app',
    ADD COLUMN IF NOT EXISTS description VARCHAR(200) NULL COMMENT 'shown to the payer',
    ADD COLUMN IF NOT EXISTS items TEXT NULL COMMENT 'JSON array of what is paid for, as the app shows it',
    ADD COLUMN IF NOT EXISTS return_url VARCHAR(2000) NULL COMMENT 'page that the app opens afterward',
    ADD COLUMN IF NOT EXISTS approved_at DATETIME(3) NULL COMMENT 'UTC; when a payer chose a card',
    ADD COLUMN IF NOT EXISTS cancelled_at DATETIME(3) NULL COMMENT 'UTC',
    ADD COLUMN IF NOT EXISTS cancelled_by ENUM('payer', 'merchant') NULL,
    ADD COLUMN IF NOT EXISTS refunded_at DATETIME(3) NULL COMMENT 'UTC; as the merchant says',
    ADD COLUMN IF NOT EXISTS refund_reason VARCHAR(200) NULL COMMENT 'as the merchant says',
    ADD COLUMN IF NOT EXISTS received_at DATETIME(3) NULL COMMENT 'UTC; first verified by the merchant, or webhook delivered',
    ADD COLUMN IF NOT EXISTS expired_at DATETIME(3) NULL COMMENT 'UTC; when the expiry was recorded',
    ADD COLUMN IF NOT EXISTS card_token VARCHAR(64) NULL COMMENT 'name of the card at this merchant',
    ADD COLUMN IF NOT EXISTS proof_hash BINARY(32) NULL COMMENT 'SHA-256 of the proof, which gets the same answer again',
    ADD COLUMN IF NOT EXISTS idempotency_hash BINARY(32) NULL COMMENT 'SHA-256 of the field Idempotency-Key',
    ADD COLUMN IF NOT EXISTS request_hash BINARY(32) NULL COMMENT 'SHA-256 of the body that came with the key',
    ALGORITHM = INSTANT;
  UPDATE payments SET approved_at = created_at WHERE approved_at IS NULL;
  -- Version 1 only marked the cards of an earlier person when it handed an account over. No such person could pay.
  DELETE c FROM cards c JOIN enrollments e ON e.id = c.enrollment_id JOIN accounts a ON a.id = e.account_id
    WHERE NOT c.active AND c.added_at < a.email_verified_at
      AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.card_id = c.id);
  UPDATE payments p JOIN card_tokens t ON t.card_id = p.card_id AND t.merchant_id = p.merchant_id
    SET p.card_token = t.token WHERE p.confirmed_at IS NOT NULL AND p.card_token IS NULL;
  ALTER TABLE payments
    MODIFY account_id UUID NULL COMMENT 'of the payer; none: not approved yet, or the account has been deleted',
    MODIFY amount DECIMAL(16, 4) NOT NULL COMMENT 'in the unit of the currency',
    MODIFY challenge_hash BINARY(32) NULL COMMENT 'SHA-256 of the challenge, which is derived from the row and a key',
    ADD COLUMN IF NOT EXISTS open_until DATETIME(3)
      AS (IF(confirmed_at IS NULL AND cancelled_at IS NULL AND expired_at IS NULL, expires_at, NULL))
      VIRTUAL COMMENT 'UTC; expires_at while it is open',
    ADD COLUMN IF NOT EXISTS open_order VARCHAR(200)
      AS (IF(is_request AND confirmed_at IS NULL AND cancelled_at IS NULL AND expired_at IS NULL, order_id, NULL))
      VIRTUAL COMMENT 'order_id while the request is open: one open request for an order',
    DROP KEY payments_merchant,
    ADD KEY payments_merchant (merchant_id, created_at),
    ADD KEY IF NOT EXISTS payments_open (open_until),
    ADD UNIQUE KEY IF NOT EXISTS payments_idempotency (merchant_id, idempotency_hash),
    ADD UNIQUE KEY IF NOT EXISTS payments_open_order (merchant_id, open_order),
    ADD CONSTRAINT IF NOT EXISTS payments_approved_with_challenge
      CHECK (approved_at IS NULL OR challenge_hash IS NOT NULL),
    ADD CONSTRAINT IF NOT EXISTS payments_confirmed_with_challenge
      CHECK (confirmed_at IS NULL OR challenge_hash IS NOT NULL),
    ADD CONSTRAINT IF NOT EXISTS payments_cancelled_whole CHECK ((cancelled_at IS NULL) = (cancelled_by IS NULL)),
    ADD CONSTRAINT IF NOT EXISTS payments_one_outcome
      CHECK ((confirmed_at IS NOT NULL) + (cancelled_at IS NOT NULL) + (expired_at IS NOT NULL) <= 1),
    ADD CONSTRAINT IF NOT EXISTS payments_refund_of_confirmed CHECK (refunded_at IS NULL OR confirmed_at IS NOT NULL),
    ADD CONSTRAINT IF NOT EXISTS payments_receipt_of_confirmed CHECK (received_at IS NULL OR confirmed_at IS NOT NULL),
    ADD CONSTRAINT IF NOT EXISTS payments_request_has_order CHECK (NOT is_request OR order_id IS NOT NULL),
    ADD CONSTRAINT IF NOT EXISTS payments_idempotency_whole CHECK ((idempotency_hash IS NULL) = (request_hash IS NULL)),
    ADD CONSTRAINT IF NOT EXISTS payments_items_array CHECK (JSON_VALID(items) AND items LIKE '[%]'),
    ALGORITHM = COPY;
  -- The programs find claimed rows by id.
  ALTER TABLE outbox DROP KEY IF EXISTS outbox_claim, ALGORITHM = INPLACE, LOCK = NONE;
  ALTER TABLE jobs DROP KEY IF EXISTS jobs_claim, ALGORITHM = INPLACE, LOCK = NONE;
  ALTER TABLE ogs_games MODIFY current_player BIGINT UNSIGNED NOT NULL
    COMMENT 'who must act; while stones are removed, the user until they accept; 0: no player', ALGORITHM = INSTANT;
END IF //
-- Version 3: refresh tokens have branches, credentials of devices can be made again, registrations of a phone are kept beside
-- each other, and a change of address ends with its session.
IF @found < 3 THEN
  ALTER TABLE sessions
    ADD COLUMN IF NOT EXISTS branch INT UNSIGNED NOT NULL DEFAULT 0
      COMMENT 'of the newest refresh token; counts the successors that were replaced because their answer was lost: those are dead'
      AFTER generation,
    ADD COLUMN IF NOT EXISTS first_branch INT UNSIGNED NOT NULL DEFAULT 0
      COMMENT 'branch with which the generation began; that of the generation before' AFTER branch,
    MODIFY confirmed BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'an access token of the newest branch has been used',
    MODIFY rotated_at DATETIME(3) NOT NULL COMMENT 'UTC; when the newest refresh token was issued',
    ADD COLUMN IF NOT EXISTS answered_at DATETIME(3) NULL
      COMMENT 'UTC; when it was given out again; none: only when it was issued' AFTER rotated_at,
    ADD COLUMN IF NOT EXISTS rotated_from VARCHAR(45) NOT NULL DEFAULT ''
      COMMENT 'network that asked for it: a /24, a /64; empty: unknown' AFTER answered_at,
    ALGORITHM = INSTANT;
  ALTER TABLE pairings
    ADD COLUMN IF NOT EXISTS branch INT UNSIGNED NOT NULL DEFAULT 0
      COMMENT 'of the newest refresh token, as in sessions' AFTER generation,
    ADD COLUMN IF NOT EXISTS first_branch INT UNSIGNED NOT NULL DEFAULT 0
      COMMENT 'branch with which the generation began' AFTER branch,
    MODIFY confirmed BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'an access token of the newest branch has been used',
    MODIFY rotated_at DATETIME(3) NOT NULL COMMENT 'UTC; when the newest refresh token was issued',
    ADD COLUMN IF NOT EXISTS answered_at DATETIME(3) NULL
      COMMENT 'UTC; when it was given out again; none: only when it was issued' AFTER rotated_at,
    ADD COLUMN IF NOT EXISTS rotated_from VARCHAR(45) NOT NULL DEFAULT ''
      COMMENT 'network that asked for it; empty: unknown' AFTER answered_at,
    ALGORITHM = INSTANT;
  ALTER TABLE devices
    ADD COLUMN IF NOT EXISTS credential_number INT UNSIGNED NOT NULL DEFAULT 0
      COMMENT 'counts the credentials made for the device: the newest is made of this number and a key'
      AFTER credential_trusted_at,
    ADD COLUMN IF NOT EXISTS credential_made_at DATETIME(3) NULL
      COMMENT 'UTC; when the newest was made; none: it was that of a registration' AFTER credential_number,
    ADD COLUMN IF NOT EXISTS credential_made_for VARCHAR(45) NOT NULL DEFAULT ''
      COMMENT 'network that asked for it: calls from there at once get the same' AFTER credential_made_at,
    ADD COLUMN IF NOT EXISTS old_credential_hash BINARY(32) NULL
      COMMENT 'SHA-256 of the credential before, which is good until the newest is used' AFTER credential_made_for,
    ADD COLUMN IF NOT EXISTS old_credential_expires_at DATETIME(3) NULL COMMENT 'UTC' AFTER old_credential_hash,
    ADD COLUMN IF NOT EXISTS old_credential_trusted_at DATETIME(3) NULL COMMENT 'UTC; as credential_trusted_at'
      AFTER old_credential_expires_at,
    ALGORITHM = INSTANT;
  -- Several registrations of a phone from one address: nobody replaces that of another person there.
  ALTER TABLE device_registrations
    MODIFY address VARCHAR(45) NOT NULL COMMENT 'of the caller',
    DROP PRIMARY KEY,
    DROP KEY IF EXISTS device_registrations_credential,
    ADD PRIMARY KEY (credential_hash),
    ADD KEY IF NOT EXISTS device_registrations_phone (client_device_id, address, registered_at),
    COMMENT = 'Devices that have not signed in yet; a sign-in that shows the credential turns one into a device of the account',
    ALGORITHM = INPLACE, LOCK = NONE;
  ALTER TABLE passkeys
    ADD COLUMN IF NOT EXISTS session_id UUID NULL
      COMMENT 'in which it was added; the link of that session in a mail removes it; none: before version 3',
    ALGORITHM = INSTANT;
  ALTER TABLE address_changes
    ADD COLUMN IF NOT EXISTS session_id UUID NULL COMMENT 'that asked: the wish ends with it; none: a browser asked',
    ALGORITHM = INSTANT;
  ALTER TABLE outbox
    MODIFY kind ENUM('login_code', 'email_confirmation', 'new_device', 'passkey_added', 'biometric_key_added',
                     'refresh_reused', 'address_change', 'address_changed', 'device_renewed', 'account_deleted',
                     'browser_signed_in', 'keys_removed', 'account_banned', 'account_unbanned',
                     'address_change_begun', 'address_proven') NOT NULL,
    MODIFY sealed VARCHAR(2000) NULL
      COMMENT 'secret part of the message, sealed for the companion alone; deleted when the row is closed',
    ALGORITHM = INSTANT;
END IF //
DELIMITER ;

-- Rows that every site has -----------------------------------------------------------------------------------------

INSERT INTO pairing_server (session, server_id)
  SELECT CONCAT_WS('-', HEX(RANDOM_BYTES(4)), HEX(RANDOM_BYTES(2)), CONCAT('4', LEFT(HEX(RANDOM_BYTES(2)), 3)),
                   CONCAT('8', LEFT(HEX(RANDOM_BYTES(2)), 3)), HEX(RANDOM_BYTES(6))),
         REPLACE(REPLACE(TO_BASE64(RANDOM_BYTES(12)), '+', '-'), '/', '_')
  ON DUPLICATE KEY UPDATE id = VALUES(id);

INSERT INTO ogs_pause (id) VALUES (1) ON DUPLICATE KEY UPDATE id = VALUES(id);

INSERT INTO health (id) VALUES (1) ON DUPLICATE KEY UPDATE id = VALUES(id);

INSERT INTO delivery_leases (channel, shard) SELECT 'apns', seq FROM seq_0_to_15
  ON DUPLICATE KEY UPDATE shard = VALUES(shard);

-- Views for administrators: Accounts -------------------------------------------------------------------------------

CREATE OR REPLACE SQL SECURITY DEFINER VIEW every_account AS
  SELECT a.id AS account_id, a.email, a.username, a.wallet_id, a.created_at, a.created_from,
         a.email_verified_at AS proven_at, a.language, a.banned_at, a.ban_reason,
         (SELECT COUNT(*) FROM devices d WHERE d.account_id = a.id AND d.revoked_at IS NULL) AS devices,
         (SELECT COUNT(*) FROM devices d JOIN sessions s ON s.device_id = d.id
           WHERE d.account_id = a.id AND s.ended_at IS NULL AND s.expires_at > UTC_TIMESTAMP(3)) AS live_sessions
    FROM accounts a;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW every_device AS
  SELECT a.email, a.username, a.wallet_id, d.id AS device_id, d.client_device_id, d.name, d.platform, d.created_at,
         d.last_used_at, d.revoked_at, p.version AS preferences_version, p.push_enabled, p.archive_cache_quota_mb,
         p.preferred_models, (SELECT COUNT(*) FROM push_tokens t WHERE t.device_id = d.id) AS push_tokens,
         (SELECT k.type FROM biometric_keys k WHERE k.device_id = d.id) AS biometric,
         (SELECT COUNT(*) FROM sessions s WHERE s.device_id = d.id AND s.ended_at IS NULL
                                            AND s.expires_at > UTC_TIMESTAMP(3)) AS live_sessions
    FROM devices d
    JOIN accounts a ON a.id = d.account_id
    LEFT JOIN device_preferences p ON p.device_id = d.id;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW live_sessions AS
  SELECT a.email, d.name AS device, d.platform, s.id AS session_id, s.created_at, s.began_by,
         s.rotated_at AS refreshed_at,
         s.generation, s.confirmed, s.expires_at
    FROM sessions s
    JOIN devices d ON d.id = s.device_id
    JOIN accounts a ON a.id = d.account_id
   WHERE s.ended_at IS NULL AND s.expires_at > UTC_TIMESTAMP(3);

CREATE OR REPLACE SQL SECURITY DEFINER VIEW every_passkey AS
  SELECT a.email, p.id AS passkey_id, p.name, p.sign_count, p.is_backed_up, p.created_at, p.last_used_at, p.uses
    FROM passkeys p
    JOIN accounts a ON a.id = p.account_id;

-- Views: Attestation -----------------------------------------------------------------------------------------------

CREATE OR REPLACE SQL SECURITY DEFINER VIEW attested_keys AS
  SELECT TO_BASE64(k.id) AS key_id, a.email, d.name AS device, k.device_id, k.app_id, k.environment, k.category,
         k.bundle_version, k.counter, k.attested_at, k.bound_at
    FROM attestation_keys k
    LEFT JOIN devices d ON d.id = k.device_id
    LEFT JOIN accounts a ON a.id = d.account_id;

-- Views: Wallet ----------------------------------------------------------------------------------------------------

CREATE OR REPLACE SQL SECURITY DEFINER VIEW connected_banks AS
  SELECT b.bsim_id, b.name AS bank, b.client_id, b.scope, b.authorization_url,
         (SELECT COUNT(*) FROM enrollments e WHERE e.bsim_id = b.bsim_id AND e.removed_at IS NULL) AS enrollments,
         (SELECT MAX(e.enrolled_at) FROM enrollments e WHERE e.bsim_id = b.bsim_id) AS last_enrolled_at,
         (SELECT MIN(c.since) FROM problems c
           WHERE c.name = 'bank' AND c.subject = b.bsim_id AND c.reason <> ''
             AND c.seen_at > UTC_TIMESTAMP(3) - INTERVAL 1 DAY) AS fails_since
    FROM banks b
   WHERE b.client_id IS NOT NULL;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW enrolled_banks AS
  SELECT a.email, b.bsim_id, b.name AS bank, e.enrolled_at, e.removed_at,
         (SELECT COUNT(*) FROM cards c WHERE c.enrollment_id = e.id AND c.active) AS cards
    FROM enrollments e
    JOIN accounts a ON a.id = e.account_id
    JOIN banks b ON b.bsim_id = e.bsim_id;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW every_card AS
  SELECT a.email, e.bsim_id, c.card_type, c.last_four, c.expiry_month, c.expiry_year, c.is_default, c.active, c.added_at,
         c.id AS card_id
    FROM cards c
    JOIN enrollments e ON e.id = c.enrollment_id
    JOIN accounts a ON a.id = e.account_id;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW every_payment AS
  SELECT p.id AS payment_id, m.name AS merchant, a.email, c.card_type, c.last_four, p.amount, p.currency, p.order_id,
         CASE WHEN p.refunded_at IS NOT NULL THEN 'refunded'
              WHEN p.confirmed_at IS NOT NULL THEN 'confirmed'
              WHEN p.cancelled_at IS NOT NULL THEN 'cancelled'
              WHEN p.expired_at IS NOT NULL OR p.expires_at <= UTC_TIMESTAMP(3) THEN 'expired'
              WHEN p.approved_at IS NOT NULL THEN 'approved'
              ELSE 'pending' END AS status,
         p.attempts, p.created_at, p.expires_at, p.approved_at, p.confirmed_at, p.confirmed_by, p.cancelled_at, p.cancelled_by,
         p.refunded_at, p.refund_reason, p.received_at
    FROM payments p
    JOIN merchants m ON m.id = p.merchant_id
    LEFT JOIN accounts a ON a.id = p.account_id
    LEFT JOIN cards c ON c.id = p.card_id;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW payments_today AS
  SELECT payment_id, merchant, email, card_type, last_four, amount, currency, order_id, status, attempts, created_at,
         expires_at, approved_at, confirmed_at, confirmed_by, cancelled_at, cancelled_by, refunded_at, refund_reason, received_at
    FROM every_payment
   WHERE created_at >= UTC_DATE();

CREATE OR REPLACE SQL SECURITY DEFINER VIEW keys_of_merchants AS
  SELECT id AS merchant_id, name, api_key_prefix, created_at, revoked_at, return_origins, largest_amount, hourly_requests,
         webhook_url
    FROM merchants;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW every_webhook AS
  SELECT w.id AS webhook_id, m.name AS merchant, w.payment_id, w.event, w.state, w.attempts, w.due_at, w.expires_at,
         w.status, w.reason, w.created_at, w.finished_at
    FROM webhooks w
    JOIN merchants m ON m.id = w.merchant_id;

-- Views: Pairing ---------------------------------------------------------------------------------------------------

CREATE OR REPLACE SQL SECURITY DEFINER VIEW paired_devices AS
  SELECT id AS device_id, name, user_agent, address, paired_at, last_used_at, rotated_at AS refreshed_at, generation,
         expires_at, ended_at, end_reason, ended_at IS NULL AND expires_at > UTC_TIMESTAMP(3) AS is_live
    FROM pairings;

-- Views: Turns -----------------------------------------------------------------------------------------------------

CREATE OR REPLACE SQL SECURITY DEFINER VIEW notified_last AS
  SELECT r.ogs_user_id, CONCAT(LEFT(r.device_token, 16), '…') AS device,
         (SELECT h.environment FROM apns_hosts h WHERE h.token = r.device_token
           ORDER BY h.learned_at DESC LIMIT 1) AS environment,
         r.last_notified_at, u.checked_at, u.active_games, u.failures, u.failure
    FROM ogs_registrations r
    JOIN ogs_users u ON u.id = r.ogs_user_id
   ORDER BY r.last_notified_at DESC;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW polls AS
  SELECT u.id AS ogs_user_id, u.due_at, u.interval_seconds, u.moved_at, u.checked_at, u.active_games, u.failures,
         u.failure, p.paused_until AS all_paused_until
    FROM ogs_users u
    JOIN ogs_pause p;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW keys_of_turns AS
  SELECT ogs_user_id, key_prefix, description, created_at, revoked_at FROM api_keys;

-- Views: Operations --------------------------------------------------------------------------------------------------

CREATE OR REPLACE SQL SECURITY DEFINER VIEW mails_today AS
  SELECT id, kind, recipient,
         IF(state = 'open' AND claim_id IS NOT NULL AND due_at > UTC_TIMESTAMP(3), 'claimed', state) AS state,
         attempts, reason, created_at, due_at, finished_at, request_id
    FROM outbox
   WHERE created_at >= UTC_DATE();

CREATE OR REPLACE SQL SECURITY DEFINER VIEW jobs_today AS
  SELECT id, kind, state, attempts, created_at, finished_at, request_id FROM jobs WHERE created_at >= UTC_DATE();

CREATE OR REPLACE SQL SECURITY DEFINER VIEW notifications_today AS
  SELECT n.kind, n.event_key, n.title, n.body, n.badge, n.data, d.id AS apns_id,
         CONCAT(LEFT(d.token, 16), '…') AS device, d.state, d.attempts, d.status, d.reason, n.created_at, d.due_at,
         d.finished_at
    FROM notifications n
    JOIN deliveries d ON d.notification_id = n.id
   WHERE n.created_at >= UTC_DATE();

CREATE OR REPLACE SQL SECURITY DEFINER VIEW failures_by_reason AS
  SELECT kind, state, reason, COUNT(*) AS messages, MAX(created_at) AS latest
    FROM outbox
   WHERE reason IS NOT NULL
   GROUP BY kind, state, reason
  UNION ALL
  SELECT n.kind, d.state, CONCAT_WS(' ', d.status, d.reason), COUNT(*), MAX(n.created_at)
    FROM deliveries d
    JOIN notifications n ON n.id = d.notification_id
   WHERE d.reason IS NOT NULL
   GROUP BY n.kind, d.state, d.status, d.reason;

-- Problems that companions have found. One that no companion has seen for a day may be over, with its host or its bank.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW present_problems AS
  SELECT name, subject, reason, since, seen_at, host
    FROM problems
   WHERE reason <> '' AND seen_at > UTC_TIMESTAMP(3) - INTERVAL 1 DAY
  UNION ALL
  SELECT 'companion', '', 'No pass has ended for two intervals and a minute.', MAX(last_pass_at), MAX(last_pass_at),
         (SELECT host FROM companion_status ORDER BY last_pass_at DESC LIMIT 1)
    FROM companion_status
  HAVING MAX(last_pass_at + INTERVAL (60 + 2 * pass_interval) SECOND) < UTC_TIMESTAMP(3);

CREATE OR REPLACE SQL SECURITY DEFINER VIEW companions AS
  SELECT host, version, last_pass_at, missing, last_pass_at < UTC_TIMESTAMP(3) - INTERVAL (60 + 2 * pass_interval) SECOND AS overdue
    FROM companion_status;

-- Facts about tokens that have no registration any more: the programs delete them.
CREATE OR REPLACE ALGORITHM=MERGE SQL SECURITY DEFINER VIEW hosts_of_no_device AS
  SELECT h.token
    FROM apns_hosts h
   WHERE NOT EXISTS (SELECT 1 FROM push_tokens t WHERE t.token = h.token)
     AND NOT EXISTS (SELECT 1 FROM ogs_registrations r WHERE r.device_token = h.token);

CREATE OR REPLACE SQL SECURITY DEFINER VIEW rate_limited_callers AS
  SELECT name, subject, hits, allowed, window_started_at,
         window_started_at + INTERVAL window_seconds SECOND AS free_again_at
    FROM rate_limits
   WHERE hits >= allowed AND window_started_at + INTERVAL window_seconds SECOND > UTC_TIMESTAMP(3);

CREATE OR REPLACE SQL SECURITY DEFINER VIEW audit_trail AS
  SELECT l.at, l.event, l.detail, a.email, d.name AS device, l.address, l.platform, l.bundle_id, l.app_version,
         l.attestation, l.attestation_reason, l.request_id, l.account_id, l.device_id
    FROM audit_log l
    LEFT JOIN accounts a ON a.id = l.account_id
    LEFT JOIN devices d ON d.id = l.device_id;

-- For the page /account: what happened to an account, without addresses and devices.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW account_events AS
  SELECT account_id, at, event, detail FROM audit_log WHERE account_id IS NOT NULL;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW tables_unfit_for_a_cluster AS
  SELECT t.TABLE_NAME AS name
    FROM information_schema.TABLES t
    LEFT JOIN information_schema.STATISTICS s
      ON s.TABLE_SCHEMA = t.TABLE_SCHEMA AND s.TABLE_NAME = t.TABLE_NAME AND s.INDEX_NAME = 'PRIMARY' AND s.SEQ_IN_INDEX = 1
   WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE' AND (t.ENGINE <> 'InnoDB' OR s.INDEX_NAME IS NULL);

-- How many rows each table has, about: what InnoDB's statistics say, which costs no look at the rows.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW table_sizes AS
  SELECT TABLE_NAME AS name, TABLE_ROWS AS row_estimate
    FROM information_schema.TABLES
   WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE';

CREATE OR REPLACE SQL SECURITY DEFINER VIEW table_checksums AS
  SELECT name, MD5(GROUP_CONCAT(line ORDER BY line SEPARATOR '\n')) AS checksum
    FROM (SELECT c.TABLE_NAME AS name,
                 CONCAT_WS(' ', 'column', c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE, c.COLLATION_NAME) AS line
            FROM information_schema.COLUMNS c
            JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
           WHERE c.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE'
           UNION ALL
          SELECT TABLE_NAME, CONCAT_WS(' ', 'index', INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, NON_UNIQUE)
            FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()) AS parts
   GROUP BY name;

-- Roles and rights: each program can do only its work. The administrator makes users and gives each one a role --------

SET SESSION lock_wait_timeout = DEFAULT, innodb_lock_wait_timeout = DEFAULT;

-- The names of the roles begin with that of the database: no site can read another's on the same server. SET @roles before
-- this file chooses another beginning.
SET @roles = COALESCE(@roles, DATABASE());
SET @rights = '
GRANT SELECT ON schema_version TO responder;
GRANT SELECT ON schema_version TO companion;
GRANT SELECT ON schema_version TO relay;
GRANT SELECT ON tables_unfit_for_a_cluster TO companion;
GRANT SELECT ON tables_unfit_for_a_cluster TO administrator;
GRANT SELECT ON schema_tables TO companion;
GRANT SELECT ON table_checksums TO companion;
GRANT SELECT ON table_checksums TO administrator;
GRANT SELECT ON table_sizes TO companion;
GRANT SELECT ON table_sizes TO administrator;

-- Accounts
GRANT SELECT, INSERT (id, email, name, username, wallet_id, created_at, created_from, language),
  UPDATE (email, name, username, cards_version, email_verified_at, language), DELETE ON accounts TO responder;
GRANT SELECT, INSERT, UPDATE ON devices TO responder;
GRANT SELECT, INSERT, UPDATE, DELETE ON device_registrations TO responder;
GRANT SELECT, INSERT, UPDATE ON sessions TO responder;
GRANT SELECT, INSERT, UPDATE ON login_codes TO responder;
GRANT SELECT, INSERT, UPDATE, DELETE ON biometric_keys TO responder;
GRANT SELECT, INSERT, UPDATE (spent_at), DELETE ON phone_challenges TO responder;
GRANT SELECT, INSERT, UPDATE (name, sign_count, is_backed_up, last_used_at, uses), DELETE ON passkeys TO responder;
GRANT SELECT, INSERT, UPDATE (spent_at) ON passkey_challenges TO responder;
GRANT SELECT, INSERT, UPDATE, DELETE ON address_changes TO responder;
GRANT SELECT, INSERT, UPDATE (form_hash, challenge_hash), DELETE ON account_visits TO responder;
GRANT SELECT (id, email, cards_version, email_verified_at, created_at, created_from, language, banned_at, ban_reason),
  UPDATE (cards_version, banned_at, ban_reason), DELETE ON accounts TO companion;
GRANT SELECT (id, account_id, client_device_id, platform, created_at, last_used_at, revoked_at),
  UPDATE (credential_hash, credential_expires_at, credential_trusted_at, old_credential_hash, old_credential_expires_at,
    old_credential_trusted_at) ON devices TO companion;
GRANT SELECT (client_device_id, address, push_token, credential_expires_at), DELETE ON device_registrations TO companion;
GRANT SELECT (id, device_id, created_at, rotated_at, expires_at, ended_at), UPDATE (ended_at, end_reason), DELETE
  ON sessions TO companion;
GRANT SELECT (email, client_device_id, asked_by, expires_at, spent_at),
  UPDATE (email, client_device_id, asked_by, device_name, spent_at), DELETE ON login_codes TO companion;
GRANT SELECT (id, device_id) ON biometric_keys TO companion;
GRANT SELECT (challenge_hash, client_device_id, asked_by, expires_at), DELETE ON phone_challenges TO companion;
GRANT SELECT (expires_at), DELETE ON passkey_challenges TO companion;
GRANT SELECT (account_id, email, expires_at), DELETE ON address_changes TO companion;
GRANT SELECT (account_id, expires_at), DELETE ON account_visits TO companion;
GRANT SELECT ON every_account TO administrator;
GRANT SELECT ON every_device TO administrator;
GRANT SELECT ON live_sessions TO administrator;
GRANT SELECT ON every_passkey TO administrator;

-- Preferences
GRANT SELECT ON models TO responder;
GRANT SELECT, INSERT (device_id, last_updated_at),
  UPDATE (device_id, push_enabled, push_token, preferred_models, archive_cache_quota_mb, version, last_updated_at,
          last_write_digest, last_write_base)
  ON device_preferences TO responder;
GRANT SELECT, INSERT, DELETE ON models TO companion;
GRANT SELECT (device_id, version, push_enabled, push_token),
  UPDATE (push_token, last_updated_at, version, last_write_digest, last_write_base)
  ON device_preferences TO companion;

-- Attestation
GRANT SELECT, INSERT, UPDATE (spent_at) ON attestation_challenges TO responder;
GRANT SELECT, INSERT, UPDATE, DELETE ON attestation_keys TO responder;
GRANT SELECT (expires_at), DELETE ON attestation_challenges TO companion;
GRANT SELECT (bound_at, attested_at), DELETE ON attestation_keys TO companion;
GRANT SELECT ON attested_keys TO administrator;

-- Push
GRANT SELECT, INSERT (token, device_id, platform, bundle_id, registered_at),
  UPDATE (token, device_id, platform, bundle_id, registered_at), DELETE ON push_tokens TO responder;
GRANT SELECT (token, device_id, platform, bundle_id, registered_at), DELETE ON push_tokens TO companion;
GRANT INSERT (token, sealed), DELETE ON web_subscriptions TO responder;
GRANT SELECT, UPDATE (sealed) ON web_subscriptions TO companion;

-- Wallet
GRANT SELECT (bsim_id, name, logo_url, authorization_url, client_id, scope) ON banks TO responder;
GRANT SELECT, UPDATE (removed_at), DELETE ON enrollments TO responder;
GRANT SELECT, UPDATE (active, is_default) ON cards TO responder;
GRANT SELECT,
  INSERT (id, state_hash, nonce_hash, verifier, account_id, session_id, bsim_id, is_mobile, expires_at, browser_hash, address),
  UPDATE (spent_at, result), DELETE ON enrollment_states TO responder;
GRANT SELECT (id, name, api_key_hash, revoked_at, return_origins, largest_amount, hourly_requests, webhook_url)
  ON merchants TO responder;
GRANT SELECT,
  INSERT (id, merchant_id, amount, currency, order_id, created_at, expires_at, is_request, description, items, return_url,
          idempotency_hash, request_hash),
  UPDATE (account_id, card_id, challenge_hash, attempts, approved_at, confirmed_at, confirmed_by, card_token, proof_hash,
          cancelled_at, cancelled_by, refunded_at, refund_reason, received_at, expired_at)
  ON payments TO responder;
GRANT SELECT (payment_id, event), INSERT (id, payment_id, merchant_id, event, expires_at) ON webhooks TO responder;
GRANT SELECT, INSERT, UPDATE ON card_tokens TO responder;
GRANT SELECT, INSERT, UPDATE ON banks TO companion;
GRANT SELECT, INSERT, UPDATE ON enrollments TO companion;
GRANT SELECT, INSERT, UPDATE ON cards TO companion;
GRANT SELECT (id, nonce_hash, verifier, account_id, session_id, bsim_id, expires_at, result), UPDATE (result), DELETE
  ON enrollment_states TO companion;
GRANT SELECT (id, name, api_key_prefix, created_at, revoked_at, return_origins, largest_amount, hourly_requests, webhook_url,
              webhook_secret, old_webhook_secret, old_webhook_secret_until),
  INSERT,
  UPDATE (revoked_at, return_origins, largest_amount, hourly_requests, webhook_url, webhook_secret, old_webhook_secret,
          old_webhook_secret_until)
  ON merchants TO companion;
GRANT SELECT (id, merchant_id, account_id, amount, currency, order_id, is_request, expires_at, confirmed_at, cancelled_at,
              cancelled_by, refunded_at, refund_reason, expired_at, received_at, card_token, open_until),
  UPDATE (expired_at, received_at), DELETE ON payments TO companion;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks TO companion;
GRANT SELECT ON connected_banks TO administrator;
GRANT SELECT ON enrolled_banks TO administrator;
GRANT SELECT ON every_card TO administrator;
GRANT SELECT ON every_payment TO administrator;
GRANT SELECT ON payments_today TO administrator;
GRANT SELECT ON keys_of_merchants TO administrator;
GRANT SELECT ON every_webhook TO administrator;

-- Pairing
GRANT SELECT, UPDATE (current_nonce) ON pairing_server TO responder;
GRANT SELECT, INSERT, UPDATE (spent_at, revoked_at) ON pairing_tokens TO responder;
GRANT SELECT, INSERT, UPDATE ON pairings TO responder;
GRANT SELECT, INSERT, UPDATE (spent_at) ON pairing_tickets TO responder;
GRANT SELECT, UPDATE (current_nonce) ON pairing_server TO companion;
GRANT SELECT, INSERT, DELETE ON pairing_tokens TO companion;
GRANT SELECT, UPDATE (name, ended_at, end_reason), DELETE ON pairings TO companion;
GRANT SELECT (expires_at), DELETE ON pairing_tickets TO companion;
GRANT SELECT (nonce, expires_at, spent_at, revoked_at) ON pairing_tokens TO relay;
GRANT SELECT (id, expires_at, ended_at) ON pairings TO relay;
GRANT SELECT ON paired_devices TO administrator;

-- Turns
GRANT SELECT, INSERT (id), UPDATE (due_at, asked_at, interval_seconds), DELETE ON ogs_users TO responder;
GRANT SELECT, INSERT (ogs_user_id, device_token, channel, sealed, language, bundle_id, registered_at),
  UPDATE (ogs_user_id, device_token, channel, sealed, language, bundle_id, registered_at, quiet_from, quiet_to, time_zone), DELETE
  ON ogs_registrations TO responder;
GRANT SELECT ON ogs_games TO responder;
GRANT SELECT (device_token), UPDATE (is_stale) ON ogs_devices TO responder;
GRANT SELECT (ogs_user_id), DELETE ON turn_alerts TO responder;
GRANT SELECT,
  INSERT (ogs_user_id, quiet_from, quiet_to, time_zone, kinds, live_games, muted_games, changed_at),
  UPDATE (ogs_user_id, quiet_from, quiet_to, time_zone, kinds, live_games, muted_games, changed_at), DELETE ON turn_settings TO responder;
GRANT SELECT (notification_id, ogs_user_id, created_at) ON turn_notices TO responder;
GRANT SELECT (notification_id, state) ON deliveries TO responder;
GRANT SELECT, INSERT (key_hash, key_prefix, ogs_user_id, description, created_at), UPDATE (revoked_at), DELETE
  ON api_keys TO responder;
GRANT SELECT (event_key), DELETE ON notifications TO responder;
GRANT SELECT, UPDATE, DELETE ON ogs_users TO companion;
GRANT SELECT, UPDATE, DELETE ON ogs_registrations TO companion;
GRANT SELECT, INSERT, UPDATE, DELETE ON ogs_games TO companion;
GRANT SELECT, INSERT, UPDATE, DELETE ON ogs_devices TO companion;
GRANT SELECT, INSERT, UPDATE, DELETE ON turn_alerts TO companion;
GRANT SELECT, DELETE ON turn_settings TO companion;
GRANT SELECT, INSERT ON turn_notices TO companion;
GRANT SELECT, UPDATE ON ogs_pause TO companion;
GRANT SELECT (key_prefix, ogs_user_id, description, created_at, revoked_at), UPDATE (revoked_at), DELETE
  ON api_keys TO companion;
GRANT SELECT ON notified_last TO administrator;
GRANT SELECT ON polls TO administrator;
GRANT SELECT ON keys_of_turns TO administrator;

-- Operations
GRANT INSERT (id, kind, recipient, sealed, state, expires_at, request_id, finished_at, account_id) ON outbox TO responder;
GRANT SELECT, INSERT (id, kind, request, request_id, account_id), UPDATE (state, finished_at) ON jobs TO responder;
GRANT SELECT (token), DELETE ON hosts_of_no_device TO responder;
GRANT SELECT (token), DELETE ON hosts_of_no_device TO companion;
GRANT SELECT ON companion_status TO responder;
GRANT SELECT ON problems TO responder;
GRANT SELECT (channel, shard, state, due_at) ON deliveries TO responder;
GRANT SELECT, UPDATE (written_at, full_at) ON health TO responder;
GRANT SELECT, INSERT (name, subject, window_started_at, window_seconds, hits, allowed),
  UPDATE (name, subject, window_started_at, window_seconds, hits, allowed) ON rate_limits TO responder;
GRANT INSERT (at, event, account_id, device_id, request_id, address, detail, platform, bundle_id, app_version, attestation,
              attestation_reason) ON audit_log TO responder;
GRANT SELECT ON account_events TO responder;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO companion;
GRANT SELECT, UPDATE, DELETE ON jobs TO companion;
GRANT SELECT, INSERT, UPDATE, DELETE ON notifications TO companion;
GRANT SELECT, INSERT, UPDATE, DELETE ON deliveries TO companion;
GRANT SELECT, INSERT (channel, shard), UPDATE ON delivery_leases TO companion;
GRANT SELECT, INSERT, UPDATE ON provider_tokens TO companion;
GRANT SELECT, INSERT, UPDATE, DELETE ON apns_hosts TO companion;
GRANT SELECT, INSERT, UPDATE ON fcm_access_tokens TO companion;
GRANT SELECT, INSERT, UPDATE, DELETE ON dead_tokens TO companion;
GRANT SELECT, INSERT, UPDATE, DELETE ON companion_status TO companion;
GRANT SELECT, INSERT, UPDATE, DELETE ON problems TO companion;
GRANT SELECT, INSERT, UPDATE ON purge_places TO companion;
GRANT SELECT, INSERT, UPDATE, DELETE ON counters TO companion;
GRANT SELECT, UPDATE (written_at, full_at) ON health TO companion;
GRANT SELECT (window_started_at), DELETE ON rate_limits TO companion;
GRANT SELECT (name, subject, window_started_at, window_seconds, hits, allowed), UPDATE (subject, hits), DELETE
  ON rate_limits TO companion;
GRANT SELECT, INSERT, UPDATE, DELETE ON job_limits TO companion;
GRANT SELECT (at), INSERT, DELETE ON audit_log TO companion;
GRANT SELECT ON mails_today TO administrator;
GRANT SELECT ON jobs_today TO administrator;
GRANT SELECT ON notifications_today TO administrator;
GRANT SELECT ON failures_by_reason TO administrator;
GRANT SELECT ON present_problems TO administrator;
GRANT SELECT ON companions TO administrator;
GRANT SELECT ON rate_limited_callers TO administrator;
GRANT SELECT ON audit_trail TO administrator;
GRANT SELECT ON account_events TO administrator;
';

DELIMITER //
BEGIN NOT ATOMIC
  DECLARE statement TEXT;
  SET @has_roles = TRUE;
  BEGIN
    -- On a shared host an account may make no roles.
    DECLARE EXIT HANDLER FOR 1227 SET @has_roles = FALSE;
    EXECUTE IMMEDIATE REPLACE('CREATE ROLE IF NOT EXISTS `*_responder`, `*_companion`, `*_relay`, `*_administrator`', '*', @roles);
  END;
  IF NOT @has_roles THEN
    SELECT 'No roles: this database account may not make them. Set SWITCHBOARD_DB_ROLES=one' AS roles;
  END IF;
  IF @has_roles THEN
    BEGIN
      -- Rights of version 1 that no program needs. An account that may not read who has which leaves them.
      DECLARE EXIT HANDLER FOR 1142 BEGIN END;
      IF EXISTS (SELECT * FROM mysql.tables_priv WHERE Db = DATABASE() AND User = CONCAT(@roles, '_responder')
                 AND Table_name = 'tables_unfit_for_a_cluster') THEN
        EXECUTE IMMEDIATE CONCAT('REVOKE SELECT ON tables_unfit_for_a_cluster FROM `', @roles, '_responder`');
      END IF;
      IF EXISTS (SELECT * FROM mysql.tables_priv WHERE Db = DATABASE() AND User = CONCAT(@roles, '_companion')
                 AND Table_name = 'merchants' AND FIND_IN_SET('Select', Table_priv) > 0) THEN
        EXECUTE IMMEDIATE CONCAT('REVOKE SELECT ON merchants FROM `', @roles, '_companion`');
      END IF;
    END;
  END IF;
  SET @meanwhile = LEFT(CONCAT(@roles, '_upgrade_', DATABASE()), 80);
  WHILE @has_roles AND LOCATE(';', @rights) > 0 DO
    SET statement = SUBSTRING_INDEX(@rights, ';', 1);
    SET @rights = SUBSTRING(@rights, CHAR_LENGTH(statement) + 2);
    BEGIN
      -- A right on columns replaces that on the whole table, of an earlier version. REVOKE on the table takes those on columns
      -- too, so a second role has the right until both are done: clients go on. An account that may not read who has which
      -- leaves all.
      DECLARE EXIT HANDLER FOR 1142 BEGIN END;
      SET @role = CONCAT(@roles, '_', REGEXP_SUBSTR(statement, '[a-z]+$'));
      SET @table = REGEXP_REPLACE(statement, '(?s)^.*[ )]ON ([a-z_]+) TO [a-z]+$', '\\1');
      SET @whole = (SELECT Table_priv FROM mysql.tables_priv
                    WHERE Db = DATABASE() AND User = @role AND Table_name = @table LIMIT 1);
      SET @replaced = CONCAT_WS(', ',
        IF(LOCATE('INSERT (', statement) > 0 AND FIND_IN_SET('Insert', @whole) > 0, 'INSERT', NULL),
        IF(LOCATE('UPDATE (', statement) > 0 AND FIND_IN_SET('Update', @whole) > 0, 'UPDATE', NULL));
      IF @replaced <> '' THEN
        EXECUTE IMMEDIATE CONCAT('CREATE ROLE IF NOT EXISTS `', @meanwhile, '`');
        EXECUTE IMMEDIATE CONCAT('GRANT ', @replaced, ' ON ', @table, ' TO `', @meanwhile, '`');
        EXECUTE IMMEDIATE CONCAT('GRANT `', @meanwhile, '` TO `', @role, '`');
        EXECUTE IMMEDIATE CONCAT('REVOKE ', @replaced, ' ON ', @table, ' FROM `', @role, '`');
      END IF;
    END;
    EXECUTE IMMEDIATE REGEXP_REPLACE(statement, '([a-z]+)$', CONCAT('`', @roles, '_\\1`'));
  END WHILE;
  IF @has_roles THEN
    BEGIN
      -- Also the role of an earlier attempt that has failed.
      DECLARE EXIT HANDLER FOR 1142 BEGIN END;
      IF EXISTS (SELECT * FROM mysql.tables_priv WHERE Db = DATABASE() AND User = @meanwhile) THEN
        EXECUTE IMMEDIATE CONCAT('DROP ROLE `', @meanwhile, '`');
      END IF;
    END;
  END IF;
END //
DELIMITER ;

-- The end: now the version is right --------------------------------------------------------------------------------

-- A table that an administrator has changed since stays known as changed when this file is applied again. 1684: InnoDB
-- still works on a table that was altered above, and MariaDB leaves it out.
DELIMITER //
BEGIN NOT ATOMIC
  DECLARE tries INT DEFAULT 0;
  REPEAT
    SET tries = tries + 1;
    BEGIN
      DECLARE EXIT HANDLER FOR 1684 BEGIN
        IF tries = 100 THEN RESIGNAL; END IF;
        DO SLEEP(0.1);
      END;
      INSERT INTO schema_tables (name, checksum) SELECT name, checksum FROM table_checksums
        ON DUPLICATE KEY UPDATE checksum = IF(@found <=> @version, schema_tables.checksum, VALUES(checksum));
      SET tries = 100;
    END;
  UNTIL tries = 100 END REPEAT;
END //
DELIMITER ;

INSERT INTO schema_version (id, version) VALUES (1, @version) ON DUPLICATE KEY UPDATE version = @version;
