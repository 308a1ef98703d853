#include <curl/curl.h>

/* Swift cannot call variadic functions. So curl_easy_setopt and curl_easy_getinfo have one function for each type. */

static inline CURLcode switchboard_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode switchboard_set_text(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode switchboard_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode switchboard_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode switchboard_set_receiver(CURL *handle, CURLoption option,
                                                size_t (*value)(char *, size_t, size_t, void *)) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode switchboard_set_progress(CURL *handle, curl_xferinfo_callback value) {
  return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, value);
}

static inline CURLcode switchboard_get_number(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode switchboard_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode switchboard_get_text(CURL *handle, CURLINFO info, char **value) {
  return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode switchboard_get_certificates(CURL *handle, struct curl_certinfo **value) {
  return curl_easy_getinfo(handle, CURLINFO_CERTINFO, value);
}

static inline CURLcode switchboard_set_socket_opener(CURL *handle, curl_opensocket_callback value) {
  return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, value);
}

static inline CURLcode switchboard_set_request_check(CURL *handle, curl_prereq_callback value) {
  return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}
