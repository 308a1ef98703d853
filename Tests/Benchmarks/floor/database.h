// The connection of one thread, its prepared statements and their memory.

#pragma once
#define NO_FCGI_DEFINES 1
#include <fcgiapp.h>
#include <mysql.h>
#include <time.h>

#include "token.h"

static const char *sql[] = {
  "SELECT s.device_id, s.generation, s.confirmed, d.credential_hash, d.credential_expires_at,\n"
  "  p.push_enabled, p.push_token, p.preferred_models, p.archive_cache_quota_mb,\n"
  "  p.last_updated_at, p.version, p.last_write_digest, p.last_write_base, d.platform\n"
  "FROM sessions s\n"
  "JOIN devices d ON d.id = s.device_id\n"
  "JOIN device_preferences p ON p.device_id = d.id\n"
  "WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL",
  "SELECT name FROM models ORDER BY position, name",
  "INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)\n"
  "VALUES (?, ?, ?, ?, 1, ?)\n"
  "ON DUPLICATE KEY UPDATE hits = IF(window_started_at <= ?, 1, hits + 1),\n"
  "  window_started_at = IF(window_started_at <= ?, VALUES(window_started_at), window_started_at),\n"
  "  window_seconds = VALUES(window_seconds), allowed = VALUES(allowed)\n"
  "RETURNING hits, window_started_at",
  "UPDATE device_preferences\n"
  "SET push_enabled = ?, push_token = ?, preferred_models = ?, archive_cache_quota_mb = ?,\n"
  "  last_updated_at = ?, last_write_digest = ?, last_write_base = ?, version = version + 1\n"
  "WHERE device_id = ? AND version = ?",
  "DELETE FROM push_tokens WHERE token = ? AND device_id = ?",
  "INSERT INTO push_tokens (token, device_id, platform, registered_at) VALUES (?, ?, ?, ?)\n"
  "ON DUPLICATE KEY UPDATE device_id = VALUES(device_id), platform = VALUES(platform),\n"
  "  registered_at = VALUES(registered_at)",
  "INSERT INTO audit_log (at, event, account_id, device_id, request_id, address, detail,\n"
  "  platform, bundle_id, app_version, attestation)\n"
  "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
};
enum { READ, CATALOGUE, COUNT, REPLACE, UNREGISTER, REGISTER, AUDIT, STATEMENTS };

// A parameter or a column with its memory. Bound once.
struct value {
  union { long long integer; MYSQL_TIME time; char text[4096]; };
  unsigned long size;
  my_bool null;
};

static const char types[STATEMENTS][2][15] = {  // i: integer, t: time, s: text
  [READ] = {"st", "siistissitisis"}, [CATALOGUE] = {"", "s"}, [COUNT] = {"sstiitt", "it"}, [REPLACE] = {"issitsisi", ""},
  [UNREGISTER] = {"ss", ""}, [REGISTER] = {"ssst", ""}, [AUDIT] = {"tssssssssss", ""},
};

// The database of one thread.
struct worker {
  MYSQL *mysql;
  MYSQL_STMT *statements[STATEMENTS];
  struct value parameters[STATEMENTS][11], columns[STATEMENTS][14];
  EVP_MAC_CTX *mac;
  struct claims claims;
  struct text body, answer;
  FCGX_Request request;
};

static void bind_values(struct value *values, const char *types, MYSQL_BIND *binds) {
  for (int i = 0; types[i]; i++) {
    binds[i].buffer = values[i].text;
    binds[i].buffer_length = sizeof values[i].text;
    binds[i].length = &values[i].size;
    binds[i].is_null = &values[i].null;
    binds[i].buffer_type = MYSQL_TYPE_STRING;
    if (types[i] == 'i') binds[i].buffer_type = MYSQL_TYPE_LONGLONG;
    if (types[i] == 't') binds[i].buffer_type = MYSQL_TYPE_DATETIME;
  }
}

static void connect_database(struct worker *worker) {
  const char *set = "SET time_zone = '+00:00', autocommit = 1, innodb_lock_wait_timeout = 3, max_statement_time = 4, "
                    "sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'";
  char password[256];
  read_secret("SWITCHBOARD_DB_PASSWORD_FILE", password, sizeof password);
  worker->mysql = mysql_init(NULL);
  mysql_options(worker->mysql, MYSQL_OPT_READ_TIMEOUT, &(unsigned){5});
  mysql_options(worker->mysql, MYSQL_OPT_WRITE_TIMEOUT, &(unsigned){5});
  mysql_options(worker->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  if (!mysql_real_connect(worker->mysql, NULL, setting("SWITCHBOARD_DB_USER"), password, setting("SWITCHBOARD_DB_NAME"), 0,
                          setting("SWITCHBOARD_DB_SOCKET"), 0) || mysql_query(worker->mysql, set))
    die(mysql_error(worker->mysql));
}

// Prepares a statement at its first use, like the responder.
static void prepare(struct worker *worker, int index) {
  MYSQL_BIND parameters[11] = {0};
  MYSQL_STMT *statement = worker->statements[index] = mysql_stmt_init(worker->mysql);
  bind_values(worker->parameters[index], types[index][0], parameters);
  if (mysql_stmt_prepare(statement, sql[index], strlen(sql[index])) || mysql_stmt_bind_param(statement, parameters))
    die(mysql_stmt_error(statement));
}

// The columns of INSERT … RETURNING are known only after its execution.
static bool execute(struct worker *worker, int index) {
  MYSQL_BIND columns[14] = {0};
  bool is_new = !worker->statements[index];
  if (is_new) prepare(worker, index);
  if (mysql_stmt_execute(worker->statements[index])) return false;
  if (!is_new || !*types[index][1]) return true;
  bind_values(worker->columns[index], types[index][1], columns);
  return !mysql_stmt_bind_result(worker->statements[index], columns);
}

static bool fetch(struct worker *worker, int index) { return !mysql_stmt_fetch(worker->statements[index]); }

// Executes a statement of at most one row; false without one.
static bool fetch_one(struct worker *worker, int index) {
  if (!execute(worker, index) || !fetch(worker, index)) return false;
  return mysql_stmt_fetch(worker->statements[index]) == MYSQL_NO_DATA;
}

static void set_text(struct value *value, const char *text, size_t size) {
  value->null = text == NULL;
  if (text) memcpy(value->text, text, value->size = size < sizeof value->text ? size : sizeof value->text);
}

static void set_integer(struct value *value, long long integer) { value->integer = integer; }

static void set_time(struct value *value, struct timespec time) {
  struct tm utc;
  gmtime_r(&time.tv_sec, &utc);
  value->time = (MYSQL_TIME){utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                             time.tv_nsec / 1000000 * 1000, 0, MYSQL_TIMESTAMP_DATETIME};
}
