// Settings, text building, base64url and JSON.

#pragma once
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what) {
  perror(what);
  exit(78);
}

static const char *setting(const char *name) {
  const char *value = getenv(name);
  if (!value) die(name);
  return value;
}

// The content of the file named by a variable, without its line end.
static void read_secret(const char *name, char *secret, int size) {
  FILE *file = fopen(setting(name), "re");
  if (!file || !fgets(secret, size, file)) die(name);
  fclose(file);
  secret[strcspn(secret, "\n")] = 0;
}

struct text {
  size_t size;
  char bytes[4096];
};

static void add(struct text *text, const void *bytes, size_t size) {
  if (text->size + size > sizeof text->bytes) size = sizeof text->bytes - text->size;
  memcpy(text->bytes + text->size, bytes, size);
  text->size += size;
}

#define ADD(text, literal) add(text, literal, sizeof literal - 1)

static void add_number(struct text *text, long long number) {
  char digits[20];
  int start = sizeof digits;
  do digits[--start] = '0' + number % 10;
  while (number /= 10);
  add(text, digits + start, sizeof digits - start);
}

// Whether the character stands for itself in a JSON string (RFC 8259 §7).
static bool is_plain(char c) { return (unsigned char)c >= 0x20 && c != '"' && c != '\\'; }

static void add_string(struct text *text, const char *bytes, size_t size) {
  size_t start = 0;
  ADD(text, "\"");
  for (size_t i = 0; i < size; i++) {
    if (is_plain(bytes[i])) continue;
    unsigned char byte = bytes[i];
    char escape[7];
    add(text, bytes + start, i - start);
    start = i + 1;
    add(text, escape, byte < 0x20 ? sprintf(escape, "\\u%04x", byte) : sprintf(escape, "\\%c", byte));
  }
  add(text, bytes + start, size - start);
  ADD(text, "\"");
}

static unsigned char value_of[256];  // of a base64url symbol; 255 for others

static void prepare_base64(void) {
  const char *symbols = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  memset(value_of, 255, sizeof value_of);
  for (int i = 0; i < 64; i++) value_of[(unsigned char)symbols[i]] = i;
}

// The bytes of base64url text; -1 unless it is in the one form of RFC 4648 §5 without padding.
static int decode_base64(const char *text, size_t size, unsigned char *bytes) {
  unsigned bits = 0, count = 0, seen = 0;
  int length = 0;
  for (size_t i = 0; i < size; i++) {
    unsigned value = value_of[(unsigned char)text[i]];
    seen |= value;
    bits = bits << 6 | value;
    if ((count += 6) < 8) continue;
    bytes[length++] = bits >> (count -= 8);
  }
  return seen == 255 || count >= 6 || bits & ((1u << count) - 1) ? -1 : length;
}

// JSON -----------------------------------------------------------------------------------------------------------------

struct json {
  const char *at, *end;
  bool bad;
};

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static char peek(struct json *json) {
  while (json->at < json->end && is_space(*json->at)) json->at++;
  return json->at < json->end ? *json->at : 0;
}

static bool take(struct json *json, char c) {
  if (peek(json) != c) return false;
  json->at++;
  return true;
}

static void expect(struct json *json, char c) {
  if (!take(json, c)) json->bad = true;
}

static bool take_word(struct json *json, const char *word) {
  size_t size = strlen(word);
  peek(json);
  if ((size_t)(json->end - json->at) < size || memcmp(json->at, word, size)) return false;
  json->at += size;
  return true;
}

static int take_hex(struct json *json) {
  int value = 0;
  for (int i = 0; i < 4; i++) {
    if (json->at == json->end || !isxdigit((unsigned char)*json->at)) return -1;
    char c = *json->at++;
    value = value * 16 + (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
  }
  return value;
}

static void add_code_point(struct text *text, int code) {
  char utf8[] = {0xF0 | code >> 18, 0x80 | (code >> 12 & 63), 0x80 | (code >> 6 & 63), 0x80 | (code & 63)};
  if (code < 0x80) add(text, (char[]){code}, 1);
  else if (code < 0x800) add(text, (char[]){0xC0 | code >> 6, utf8[3]}, 2);
  else if (code < 0x10000) add(text, (char[]){0xE0 | code >> 12, utf8[2], utf8[3]}, 3);
  else add(text, utf8, 4);
}

static void take_escape(struct json *json, struct text *text) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  char c = json->at < json->end ? *json->at++ : 0;
  const char *name = c ? strchr(names, c) : NULL;
  if (name) return add(text, &values[name - names], 1);
  int code = c == 'u' ? take_hex(json) : -1;
  if (code >= 0xD800 && code < 0xDC00) {
    int low = take_word(json, "\\u") ? take_hex(json) : -1;
    code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code & 0x3FF) << 10 | (low & 0x3FF)) : -1;
  }
  if (code < 0 || (code >= 0xDC00 && code < 0xE000)) json->bad = true;
  else add_code_point(text, code);
}

static void take_string(struct json *json, struct text *text) {
  text->size = 0;
  expect(json, '"');
  while (!json->bad) {
    const char *start = json->at;
    while (json->at < json->end && is_plain(*json->at)) json->at++;
    add(text, start, json->at - start);
    if (json->at == json->end || (unsigned char)*json->at < 0x20) json->bad = true;
    else if (*json->at++ == '"') return;
    else take_escape(json, text);
  }
}

static long long take_integer(struct json *json) {
  bool negative = take(json, '-');
  long long value = 0;
  if (!isdigit((unsigned char)peek(json))) json->bad = true;
  while (json->at < json->end && isdigit((unsigned char)*json->at) && value < 100000000000000000)
    value = value * 10 + (*json->at++ - '0');
  if (json->at < json->end && strchr(".eE0123456789", *json->at)) json->bad = true;
  return negative ? -value : value;
}

static bool take_boolean(struct json *json) {
  if (take_word(json, "true")) return true;
  if (!take_word(json, "false")) json->bad = true;
  return false;
}

// The name of the next member of the object; false after the last.
static bool next_member(struct json *json, bool *first, struct text *name) {
  if (*first) expect(json, '{');
  if (json->bad || take(json, '}')) return false;
  if (!*first) expect(json, ',');
  *first = false;
  take_string(json, name);
  expect(json, ':');
  return !json->bad;
}

static bool is(const struct text *text, const char *word) {
  return text->size == strlen(word) && !memcmp(text->bytes, word, text->size);
}
