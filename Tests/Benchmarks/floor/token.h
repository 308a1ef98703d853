// The access token: the same rules as in API/Bearer.swift and JSONWebToken.swift.

#pragma once
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "text.h"

enum { SIGNATURE = 43 };

static unsigned char key[128];
static int key_size;
static char token_header[256];  // with the dot that ends it
static size_t token_header_size;
static const char *issuer;

static void prepare_token(void) {
  char entry[256], header[256];
  read_secret("SWITCHBOARD_JWT_KEYS_FILE", entry, sizeof entry);
  char *secret = strchr(entry, ':');
  if (!secret) die("SWITCHBOARD_JWT_KEYS_FILE");
  *secret++ = 0;
  key_size = decode_base64(secret, strlen(secret), key);
  int size = sprintf(header, "{\"alg\":\"HS256\",\"kid\":\"%.60s\",\"typ\":\"JWT\"}", entry);
  EVP_EncodeBlock((unsigned char *)token_header, (unsigned char *)header, size);
  for (char *c = token_header; *c; c++) *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
  token_header_size = strcspn(token_header, "=");
  token_header[token_header_size++] = '.';
  issuer = setting("SWITCHBOARD_PUBLIC_URL");
}

struct claims {
  struct text account, session;
  long long generation;
};

// Whether the claims are those of a valid access token of this site.
static bool read_claims(const char *payload, int size, long long now, struct claims *claims) {
  struct json json = {payload, payload + size, false};
  struct text name, text;
  long long exp = 0, iat = now;
  bool first = true, ours = false, access = false, app = false;
  unsigned seen = 0;
  while (next_member(&json, &first, &name)) {
    if (is(&name, "sub")) take_string(&json, &claims->account), seen |= 1;
    else if (is(&name, "sid")) take_string(&json, &claims->session), seen |= 2;
    else if (is(&name, "gen")) claims->generation = take_integer(&json), seen |= 4;
    else if (is(&name, "iat")) iat = take_integer(&json), seen |= 8;
    else if (is(&name, "exp")) exp = take_integer(&json);
    else if (is(&name, "iss")) take_string(&json, &text), ours = is(&text, issuer);
    else if (is(&name, "aud")) take_string(&json, &text), app = is(&text, "mwsim");
    else if (is(&name, "type")) take_string(&json, &text), access = is(&text, "access");
    else if (is(&name, "deviceId")) take_string(&json, &text), seen |= 16;
    else json.bad = true;
  }
  return !json.bad && !peek(&json) && seen == 31 && ours && access && app && exp > now && iat <= now + 60;
}

static bool verify(EVP_MAC_CTX *mac, const char *token, long long now, struct claims *claims) {
  size_t size = strlen(token);
  unsigned char signature[33], tag[32], payload[4096];
  size_t tag_size;
  if (size > 4096 || size < token_header_size + SIGNATURE + 1 || memcmp(token, token_header, token_header_size))
    return false;
  size_t end = size - SIGNATURE - 1;
  if (token[end] != '.' || decode_base64(token + end + 1, SIGNATURE, signature) != 32) return false;
  EVP_MAC_init(mac, NULL, 0, NULL);
  EVP_MAC_update(mac, (const unsigned char *)token, end);
  EVP_MAC_final(mac, tag, &tag_size, sizeof tag);
  if (CRYPTO_memcmp(tag, signature, sizeof tag)) return false;
  int length = decode_base64(token + token_header_size, end - token_header_size, payload);
  return length > 0 && read_claims((char *)payload, length, now, claims);
}
