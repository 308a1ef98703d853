<?php

// GET and POST /api/v1/device-prefs in a typical PHP program: PDO with a persistent connection, opcache.
// Checks the token and uses SQL like the responder. Answers requests that the benchmark never sends with 501.

declare(strict_types=1);

const READ = <<<'SQL'
  SELECT s.device_id, s.generation, s.confirmed, d.credential_hash, d.credential_expires_at,
    p.push_enabled, p.push_token, p.preferred_models, p.archive_cache_quota_mb,
    p.last_updated_at, p.version, p.last_write_digest, p.last_write_base, d.platform
  FROM sessions s
  JOIN devices d ON d.id = s.device_id
  JOIN device_preferences p ON p.device_id = d.id
  WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL
  SQL;

const COUNT = <<<'SQL'
  INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
  VALUES (?, ?, ?, ?, 1, ?)
  ON DUPLICATE KEY UPDATE hits = IF(window_started_at <= ?, 1, hits + 1),
    window_started_at = IF(window_started_at <= ?, VALUES(window_started_at), window_started_at),
    window_seconds = VALUES(window_seconds), allowed = VALUES(allowed)
  RETURNING hits, window_started_at
  SQL;

const REPLACE = <<<'SQL'
  UPDATE device_preferences
  SET push_enabled = ?, push_token = ?, preferred_models = ?, archive_cache_quota_mb = ?,
    last_updated_at = ?, last_write_digest = ?, last_write_base = ?, version = version + 1
  WHERE device_id = ? AND version = ?
  SQL;

const REGISTER = <<<'SQL'
  INSERT INTO push_tokens (token, device_id, platform, registered_at) VALUES (?, ?, ?, ?)
  ON DUPLICATE KEY UPDATE device_id = VALUES(device_id), platform = VALUES(platform),
    registered_at = VALUES(registered_at)
  SQL;

const AUDIT = <<<'SQL'
  INSERT INTO audit_log (at, event, account_id, device_id, request_id, address, detail,
    platform, bundle_id, app_version, attestation)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  SQL;

final class Refusal extends Exception {}

function refuse(int $status): never
{
    throw new Refusal(code: $status);
}

function base64url(string $text): string
{
    $bytes = base64_decode(strtr($text, '-_', '+/'), true);
    if ($bytes === false || rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=') !== $text) refuse(401);
    return $bytes;
}

/** The claims of the request's access token. */
function claims(int $now): array
{
    if (!preg_match('/^bearer +(\S+)$/i', $_SERVER['HTTP_AUTHORIZATION'] ?? '', $match)) refuse(401);
    $parts = explode('.', $match[1]);
    if (strlen($match[1]) > 4096 || count($parts) !== 3) refuse(401);
    [$id, $key] = explode(':', getenv('SWITCHBOARD_JWT_KEYS'));
    $header = rtrim(strtr(base64_encode('{"alg":"HS256","kid":"' . $id . '","typ":"JWT"}'), '+/', '-_'), '=');
    $tag = hash_hmac('sha256', "$parts[0].$parts[1]", base64url($key), true);
    if ($parts[0] !== $header || !hash_equals($tag, base64url($parts[2]))) refuse(401);
    $claims = json_decode(base64url($parts[1]), true);
    $valid = is_array($claims) && ($claims['type'] ?? '') === 'access' && ($claims['aud'] ?? '') === 'mwsim'
        && ($claims['iss'] ?? '') === getenv('SWITCHBOARD_PUBLIC_URL')
        && is_int($claims['exp'] ?? null) && $claims['exp'] > $now
        && is_int($claims['iat'] ?? null) && $claims['iat'] <= $now + 60
        && is_string($claims['sub'] ?? null) && is_string($claims['sid'] ?? null)
        && is_string($claims['deviceId'] ?? null) && is_int($claims['gen'] ?? null);
    return $valid ? $claims : refuse(401);
}

function connect(): PDO
{
    $set = "SET time_zone = '+00:00', autocommit = 1, innodb_lock_wait_timeout = 3, max_statement_time = 4,
      sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'";
    $target = 'mysql:unix_socket=' . getenv('SWITCHBOARD_DB_SOCKET') . ';dbname=' . getenv('SWITCHBOARD_DB_NAME');
    return new PDO($target . ';charset=utf8mb4', getenv('SWITCHBOARD_DB_USER'), getenv('SWITCHBOARD_DB_PASSWORD'), [
        PDO::ATTR_PERSISTENT => true,
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_EMULATE_PREPARES => true, // faster than preparing on the server in each request
        PDO::MYSQL_ATTR_INIT_COMMAND => $set,
    ]);
}

function execute(PDO $database, string $sql, array $parameters): PDOStatement
{
    $statement = $database->prepare($sql);
    $statement->execute($parameters);
    return $statement;
}

/** The caller's row. */
function find(PDO $database, array $claims, string $now): array
{
    $row = execute($database, READ, [$claims['sid'], $now])->fetch(PDO::FETCH_ASSOC) ?: refuse(401);
    if (!$row['confirmed'] && (int) $row['generation'] === $claims['gen']) refuse(501);
    return $row;
}

/** The body of a POST, checked. */
function change(): array
{
    $change = json_decode(file_get_contents('php://input'), true);
    $models = $change['preferred_models'] ?? [];
    $token = $change['push_token'] ?? 'x';
    $valid = is_array($change) && is_bool($change['push_enabled'] ?? true) && is_array($models)
        && is_string($token) && strlen($token) >= 1 && strlen($token) <= 512
        && is_int($change['archive_cache_quota_mb'] ?? 0) && count($models) <= 16
        && array_reduce($models, fn($all, $model) => $all && is_string($model), true);
    if (!$valid) refuse(400);
    if (isset($change['if_version'])) refuse(501);
    return $change;
}

/** The models in the catalogue's spelling, each once. */
function canonical(PDO $database, array $models): string
{
    $catalogue = [];
    foreach ($database->query('SELECT name FROM models ORDER BY position, name', PDO::FETCH_COLUMN, 0) as $name) {
        $catalogue[strtolower($name)] = $name;
    }
    $canonical = [];
    foreach ($models as $model) {
        $folded = strtolower(trim($model));
        $canonical[$folded] = $catalogue[$folded] ?? refuse(400);
    }
    return json_encode(array_values($canonical), JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
}

function merge(PDO $database, array $claims, array $change, string $now): array
{
    $row = find($database, $claims, $now);
    $old = $row['push_token'];
    $device = $row['device_id'];
    if (isset($change['preferred_models'])) $row['preferred_models'] = canonical($database, $change['preferred_models']);
    $windowEnd = gmdate('Y-m-d H:i:s', strtotime("$now UTC") - 3600) . substr($now, 19);
    $counted = execute($database, COUNT, ['device-prefs', $device, $now, 3600, 30, $windowEnd, $windowEnd]);
    if ((int) $counted->fetch(PDO::FETCH_NUM)[0] > 30) refuse(429);
    $counted->closeCursor();

    $row['push_enabled'] = (int) ($change['push_enabled'] ?? $row['push_enabled']);
    if (array_key_exists('push_token', $change)) $row['push_token'] = $change['push_token'];
    $row['archive_cache_quota_mb'] = min(max($change['archive_cache_quota_mb'] ?? $row['archive_cache_quota_mb'], 128), 4096);
    $row['last_updated_at'] = $now;
    $replaced = execute($database, REPLACE, [
        $row['push_enabled'], $row['push_token'], $row['preferred_models'], $row['archive_cache_quota_mb'], $now, null, null,
        $device, $row['version']++,
    ]);
    if ($replaced->rowCount() !== 1) refuse(500);
    if ($old !== null && $old !== $row['push_token']) {
        execute($database, 'DELETE FROM push_tokens WHERE token = ? AND device_id = ?', [$old, $device]);
    }
    if (isset($change['push_token']) && preg_match('/^[A-Za-z0-9:_.-]{20,512}$/D', $change['push_token'])) {
        execute($database, REGISTER, [$change['push_token'], $device, $row['platform'], $now]);
    }
    $bundle = $_SERVER['HTTP_X_IOS_APP_BUNDLE_ID'] ?? null;
    execute($database, AUDIT, [
        $now, 'preferences_written', $claims['sub'], $device, $_SERVER['REQUEST_ID'] ?? '', $_SERVER['REMOTE_ADDR'],
        "version $row[version]", $bundle === null ? null : 'iOS', $bundle, $_SERVER['HTTP_X_IOS_APP_VERSION'] ?? null,
        isset($bundle, $_SERVER['HTTP_X_IOS_APP_ATTEST_ASSERTION']) ? 'unverified' : 'none',
    ]);
    return $row;
}

function post(PDO $database, array $claims, string $now): array
{
    $change = change();
    for ($tries = 1;; $tries++) {
        $database->beginTransaction();
        try {
            $row = merge($database, $claims, $change, $now);
            $database->commit();
            return $row;
        } catch (Throwable $error) { // retries everything after a lost race or a deadlock
            $database->rollBack();
            $isRace = $error instanceof PDOException || $error->getCode() === 500;
            if (!$isRace || $tries === 5) throw $error;
        }
    }
}

/** The object with the preferences of the request's device, read or written. */
function respond(): string
{
    $time = gettimeofday();
    $now = gmdate('Y-m-d H:i:s', $time['sec']) . sprintf('.%03d', intdiv($time['usec'], 1000));
    if ($_SERVER['SCRIPT_NAME'] !== '/api/v1/device-prefs') refuse(404);
    $claims = claims($time['sec']);
    if (isset($_SERVER['HTTP_X_DEVICE_CREDENTIAL'])) refuse(501);
    $row = match ($_SERVER['REQUEST_METHOD']) {
        'GET' => find(connect(), $claims, $now),
        'POST' => post(connect(), $claims, $now),
        default => refuse(405),
    };
    return json_encode([
        'push_enabled' => (bool) $row['push_enabled'],
        'push_token' => $row['push_token'],
        'preferred_models' => json_decode($row['preferred_models']),
        'archive_cache_quota_mb' => (int) $row['archive_cache_quota_mb'],
        'last_updated_at' => strtr(substr($row['last_updated_at'], 0, 19), ' ', 'T') . 'Z',
        'device_id' => $row['device_id'],
        'user_id' => $claims['sub'],
        'version' => (int) $row['version'],
    ], JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
}

try {
    $body = respond();
} catch (Refusal $refusal) {
    http_response_code($refusal->getCode());
    $body = '{}';
} catch (Throwable $error) {
    error_log((string) $error);
    http_response_code(500);
    $body = '{}';
}
header('Content-Type: application/json');
header('Cache-Control: no-store');
header('X-Request-Id: ' . ($_SERVER['REQUEST_ID'] ?? ''));
header('Content-Length: ' . strlen($body));
echo $body;
