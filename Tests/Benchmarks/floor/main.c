// GET and POST /api/v1/device-prefs with the least work possible in C: the lower limit for the responder's cost.
//
// It does what the responder does for the requests of the benchmark: libfcgi behind epoll with four threads, kept
// connections, a complete check of the token, the same SQL with prepared statements. It always reads the catalog of models,
// which the responder reads only when the models change. Requests that the benchmark never sends
// (if_version, a device credential, an unconfirmed session) get 501, and nothing is logged.
//
// Its environment is the responder's: SWITCHBOARD_DB_SOCKET, _NAME, _USER, _PASSWORD_FILE, SWITCHBOARD_JWT_KEYS_FILE,
// SWITCHBOARD_PUBLIC_URL. fd 0 is the listening socket.

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "database.h"
#include "text.h"
#include "token.h"

enum { LISTENER = 0, THREADS = 4, MODELS = 16 };

// The columns of READ.
enum {
  DEVICE, GENERATION, CONFIRMED, HASH, HASH_EXPIRY, ENABLED, TOKEN, CHOSEN, QUOTA, UPDATED, VERSION, DIGEST, BASE, PLATFORM
};

static const char *header(struct worker *worker, const char *name) { return FCGX_GetParam(name, worker->request.envp); }

static size_t length(const char *text) { return text ? strlen(text) : 0; }

// Reads the caller's row into columns[READ]; otherwise returns the status of the answer.
static int find_preferences(struct worker *worker, struct timespec now) {
  struct value *row = worker->columns[READ];
  set_text(&worker->parameters[READ][0], worker->claims.session.bytes, worker->claims.session.size);
  set_time(&worker->parameters[READ][1], now);
  if (!fetch_one(worker, READ)) return 401;
  return row[CONFIRMED].integer || row[GENERATION].integer != worker->claims.generation ? 200 : 501;
}

static int get(struct worker *worker, struct timespec now) { return find_preferences(worker, now); }

struct change {
  int enabled;  // -1: keep
  enum { KEEP, CLEAR, SET } token_change;
  struct text token;
  int model_count;  // -1: keep
  struct text models[MODELS];
  long long quota;  // -1: keep
};

static bool read_models(struct json *json, struct change *change) {
  change->model_count = 0;
  expect(json, '[');
  while (!json->bad && !take(json, ']')) {
    if (change->model_count == MODELS) return false;
    if (change->model_count) expect(json, ',');
    take_string(json, &change->models[change->model_count++]);
  }
  return true;
}

static bool read_change(struct worker *worker, struct change *change) {
  struct json json = {worker->body.bytes, worker->body.bytes + worker->body.size, false};
  struct text name;
  bool first = true;
  change->enabled = change->model_count = change->quota = -1;
  change->token_change = KEEP;
  while (next_member(&json, &first, &name)) {
    if (is(&name, "push_enabled")) change->enabled = take_boolean(&json);
    else if (is(&name, "push_token") && take_word(&json, "null")) change->token_change = CLEAR;
    else if (is(&name, "push_token")) take_string(&json, &change->token), change->token_change = SET;
    else if (is(&name, "preferred_models")) json.bad |= !read_models(&json, change);
    else if (is(&name, "archive_cache_quota_mb")) change->quota = take_integer(&json);
    else json.bad = true;
  }
  return !json.bad && !peek(&json) && (change->token_change != SET || (change->token.size && change->token.size <= 512));
}

// Writes the chosen models in the catalogue's spelling, each once, as a JSON array; false if one is not in it.
static bool write_models(struct worker *worker, const struct change *change, struct text *array) {
  struct value *name = &worker->columns[CATALOGUE][0];
  struct { size_t size; char name[512]; } catalogue[256];
  int count = 0, chosen[MODELS];
  for (execute(worker, CATALOGUE); fetch(worker, CATALOGUE);)
    if (count < 256) memcpy(catalogue[count].name, name->text, catalogue[count].size = name->size), count++;
  array->size = 0;
  for (int i = 0; i < change->model_count; i++) {
    const char *start = change->models[i].bytes, *end = start + change->models[i].size;
    while (start < end && isspace((unsigned char)*start)) start++;
    while (end > start && isspace((unsigned char)end[-1])) end--;
    int found = 0, seen = 0;
    size_t size = end - start;
    while (found < count && (catalogue[found].size != size || strncasecmp(catalogue[found].name, start, size))) found++;
    if (found == count || !size) return false;
    chosen[i] = found;
    while (chosen[seen] != found) seen++;
    if (seen < i) continue;
    add(array, i ? "," : "[", 1);
    add_string(array, catalogue[found].name, size);
  }
  if (!array->size) ADD(array, "[");
  ADD(array, "]");
  return true;
}

static bool is_push_token(const struct value *token) {
  if (token->null || token->size < 20 || token->size > 512) return false;
  for (size_t i = 0; i < token->size; i++)
    if (!isalnum((unsigned char)token->text[i]) && !strchr(":_-.", token->text[i])) return false;
  return true;
}

static bool count_write(struct worker *worker, struct timespec now) {
  struct value *parameters = worker->parameters[COUNT], *device = &worker->columns[READ][DEVICE];
  struct timespec window_end = {now.tv_sec - 3600, now.tv_nsec};
  set_text(&parameters[0], "device-prefs", 12);
  set_text(&parameters[1], device->text, device->size);
  set_time(&parameters[2], now);
  set_integer(&parameters[3], 3600);
  set_integer(&parameters[4], 30);
  set_time(&parameters[5], window_end);
  set_time(&parameters[6], window_end);
  return fetch_one(worker, COUNT) && worker->columns[COUNT][0].integer <= 30;
}

// Writes the row if it has not changed since the read, and changes columns[READ] in the same way.
static bool replace(struct worker *worker, const struct change *change, const struct text *models, struct timespec now) {
  struct value *row = worker->columns[READ], *parameters = worker->parameters[REPLACE];
  if (change->enabled >= 0) row[ENABLED].integer = change->enabled;
  if (change->token_change == SET) set_text(&row[TOKEN], change->token.bytes, change->token.size);
  if (change->token_change == CLEAR) row[TOKEN].null = 1;
  if (change->model_count >= 0) set_text(&row[CHOSEN], models->bytes, models->size);
  if (change->quota >= 0) row[QUOTA].integer = change->quota < 128 ? 128 : change->quota > 4096 ? 4096 : change->quota;
  set_time(&row[UPDATED], now);
  set_integer(&parameters[0], row[ENABLED].integer);
  set_text(&parameters[1], row[TOKEN].null ? NULL : row[TOKEN].text, row[TOKEN].size);
  set_text(&parameters[2], row[CHOSEN].text, row[CHOSEN].size);
  set_integer(&parameters[3], row[QUOTA].integer);
  parameters[4].time = row[UPDATED].time;
  parameters[5].null = parameters[6].null = 1;
  set_text(&parameters[7], row[DEVICE].text, row[DEVICE].size);
  set_integer(&parameters[8], row[VERSION].integer++);
  return execute(worker, REPLACE) && mysql_stmt_affected_rows(worker->statements[REPLACE]) == 1;
}

// Updates the row of the push token; `old` is empty if there was none.
static bool move_token(struct worker *worker, const struct text *old, bool given_now, struct timespec now) {
  struct value *row = worker->columns[READ], *device = &row[DEVICE], *new = &row[TOKEN];
  struct value *gone = worker->parameters[UNREGISTER], *given = worker->parameters[REGISTER];
  bool same = !new->null && new->size == old->size && !memcmp(new->text, old->bytes, old->size);
  if (old->size && !same) {
    set_text(&gone[0], old->bytes, old->size);
    set_text(&gone[1], device->text, device->size);
    if (!execute(worker, UNREGISTER)) return false;
  }
  if (!given_now || !is_push_token(new)) return true;
  set_text(&given[0], new->text, new->size);
  set_text(&given[1], device->text, device->size);
  set_text(&given[2], row[PLATFORM].text, row[PLATFORM].size);
  set_time(&given[3], now);
  return execute(worker, REGISTER);
}

static bool audit(struct worker *worker, struct timespec now) {
  struct value *row = worker->columns[READ], *parameters = worker->parameters[AUDIT];
  const char *id = header(worker, "REQUEST_ID"), *address = header(worker, "REMOTE_ADDR");
  const char *bundle = header(worker, "HTTP_X_IOS_APP_BUNDLE_ID"), *version = header(worker, "HTTP_X_IOS_APP_VERSION");
  const char *attestation = bundle && header(worker, "HTTP_X_IOS_APP_ATTEST_ASSERTION") ? "unverified" : "none";
  char detail[40];
  set_time(&parameters[0], now);
  set_text(&parameters[1], "preferences_written", 19);
  set_text(&parameters[2], worker->claims.account.bytes, worker->claims.account.size);
  set_text(&parameters[3], row[DEVICE].text, row[DEVICE].size);
  set_text(&parameters[4], id ? id : "", length(id));
  set_text(&parameters[5], address ? address : "", length(address));
  set_text(&parameters[6], detail, sprintf(detail, "version %lld", row[VERSION].integer));
  set_text(&parameters[7], bundle ? "iOS" : NULL, 3);
  set_text(&parameters[8], bundle, length(bundle));
  set_text(&parameters[9], bundle ? version : NULL, length(version));
  set_text(&parameters[10], attestation, strlen(attestation));
  return execute(worker, AUDIT);
}

static int merge(struct worker *worker, const struct change *change, struct timespec now) {
  struct text models, old;
  struct value *token = &worker->columns[READ][TOKEN];
  int status = find_preferences(worker, now);
  if (status != 200) return status;
  old.size = 0;
  if (!token->null) add(&old, token->text, token->size);
  if (change->model_count >= 0 && !write_models(worker, change, &models)) return 400;
  if (!count_write(worker, now)) return 429;
  bool done = replace(worker, change, &models, now) &&
              move_token(worker, &old, change->token_change == SET, now) && audit(worker, now);
  return done ? 200 : 500;
}

static int post(struct worker *worker, struct timespec now) {
  struct change change;
  int status = 500;
  if (!read_change(worker, &change)) return 400;
  for (int tries = 0; tries < 5 && status == 500; tries++) {  // retries everything after a lost race or a deadlock
    if (mysql_query(worker->mysql, "START TRANSACTION")) return 500;
    status = merge(worker, &change, now);
    if (mysql_query(worker->mysql, status == 200 ? "COMMIT" : "ROLLBACK")) status = 500;
  }
  return status;
}

static void write_preferences(struct worker *worker, struct text *json) {
  struct value *row = worker->columns[READ];
  MYSQL_TIME *at = &row[UPDATED].time;
  char time[64];
  if (row[ENABLED].integer) ADD(json, "{\"push_enabled\":true,\"push_token\":");
  else ADD(json, "{\"push_enabled\":false,\"push_token\":");
  if (row[TOKEN].null) ADD(json, "null");
  else add_string(json, row[TOKEN].text, row[TOKEN].size);
  ADD(json, ",\"preferred_models\":");
  add(json, row[CHOSEN].text, row[CHOSEN].size);
  ADD(json, ",\"archive_cache_quota_mb\":");
  add_number(json, row[QUOTA].integer);
  ADD(json, ",\"last_updated_at\":\"");
  add(json, time, sprintf(time, "%04u-%02u-%02uT%02u:%02u:%02uZ", at->year, at->month, at->day, at->hour, at->minute,
                          at->second));
  ADD(json, "\",\"device_id\":");
  add_string(json, row[DEVICE].text, row[DEVICE].size);
  ADD(json, ",\"user_id\":");
  add_string(json, worker->claims.account.bytes, worker->claims.account.size);
  ADD(json, ",\"version\":");
  add_number(json, row[VERSION].integer);
  ADD(json, "}");
}

static bool read_body(struct worker *worker) {
  const char *size = header(worker, "CONTENT_LENGTH");
  long expected = size ? atol(size) : 0;
  char rest[512];
  bool fits = expected >= 0 && expected <= (long)sizeof worker->body.bytes;
  worker->body.size = fits ? FCGX_GetStr(worker->body.bytes, expected, worker->request.in) : 0;
  while (FCGX_GetStr(rest, sizeof rest, worker->request.in) > 0) fits = false;  // the stream must be read to its end
  return fits && worker->body.size == (size_t)expected;
}

static int respond(struct worker *worker) {
  struct timespec now;
  const char *method = header(worker, "REQUEST_METHOD"), *path = header(worker, "SCRIPT_NAME");
  const char *authorization = header(worker, "HTTP_AUTHORIZATION");
  clock_gettime(CLOCK_REALTIME, &now);
  bool whole = read_body(worker);
  if (!path || strcmp(path, "/api/v1/device-prefs")) return 404;
  if (!whole) return 400;
  if (!authorization || strncasecmp(authorization, "bearer ", 7)) return 401;
  if (!verify(worker->mac, authorization + 7, now.tv_sec, &worker->claims)) return 401;
  if (header(worker, "HTTP_X_DEVICE_CREDENTIAL")) return 501;
  return !strcmp(method, "GET") ? get(worker, now) : !strcmp(method, "POST") ? post(worker, now) : 405;
}

static void answer(struct worker *worker) {
  struct text *answer = &worker->answer, json;
  int status = respond(worker);
  const char *id = header(worker, "REQUEST_ID");
  answer->size = json.size = 0;
  if (status == 200) write_preferences(worker, &json);
  else ADD(&json, "{}");
  ADD(answer, "Status: ");
  add_number(answer, status);
  ADD(answer, "\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nX-Request-Id: ");
  add(answer, id ? id : "", length(id));
  ADD(answer, "\r\nContent-Length: ");
  add_number(answer, json.size);
  ADD(answer, "\r\n\r\n");
  add(answer, json.bytes, json.size);
  FCGX_PutStr(answer->bytes, answer->size, worker->request.out);
}

// Connections ----------------------------------------------------------------------------------------------------------

static int poller;

static int watch(int operation, int descriptor) {
  struct epoll_event event = {EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, {.fd = descriptor}};
  return epoll_ctl(poller, operation, descriptor, &event);
}

// Lends the readable connection to libfcgi for one request.
static void serve(struct worker *worker, int connection, int operation) {
  FCGX_Request *request = &worker->request;
  request->ipcFd = connection;
  request->keepConnection = 1;
  FCGX_Detach(request);
  if (FCGX_Accept_r(request)) return;
  answer(worker);
  FCGX_Finish_r(request);
  if (request->ipcFd >= 0) watch(operation, connection);
  request->ipcFd = -1;
}

static void accept_connection(struct worker *worker) {
  struct timeval timeout = {3, 0};
  char byte;
  int connection = accept4(LISTENER, NULL, NULL, SOCK_CLOEXEC);
  watch(EPOLL_CTL_MOD, LISTENER);
  if (connection < 0) return;
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  ssize_t size = recv(connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (size == 1) serve(worker, connection, EPOLL_CTL_ADD);
  else if (size == 0 || errno != EAGAIN) close(connection);
  else watch(EPOLL_CTL_ADD, connection);
}

static void *work(void *unused) {
  struct worker *worker = calloc(1, sizeof *worker);
  struct epoll_event event;
  EVP_MAC *method = EVP_MAC_fetch(NULL, "HMAC", NULL);
  OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string("digest", "SHA256", 0), OSSL_PARAM_construct_end()};
  (void)unused;
  worker->mac = EVP_MAC_CTX_new(method);
  if (!EVP_MAC_init(worker->mac, key, key_size, parameters)) die("EVP_MAC_init");
  connect_database(worker);
  FCGX_InitRequest(&worker->request, -1, 0);
  for (;;) {
    if (epoll_wait(poller, &event, 1, -1) != 1) continue;
    if (event.data.fd == LISTENER) accept_connection(worker);
    else serve(worker, event.data.fd, EPOLL_CTL_MOD);
  }
  return NULL;
}

int main(void) {
  pthread_t thread;
  prepare_base64();
  prepare_token();
  FCGX_Init();
  signal(SIGTERM, SIG_DFL);  // libfcgi's handler would only set a flag
  signal(SIGPIPE, SIG_IGN);
  mysql_server_init(0, NULL, NULL);
  poller = epoll_create1(EPOLL_CLOEXEC);
  watch(EPOLL_CTL_ADD, LISTENER);
  for (int i = 0; i < THREADS; i++) pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, NULL);
}
