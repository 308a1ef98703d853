/// An environment variable of the programs. `nginx/run` passes only the variables that a program reads.
package struct Variable: Sendable {
  package enum Reader: String, CaseIterable, Sendable { case responder, companion, relay }

  package let name: String
  /// The permanent programs that read the variable. An administrator's command may read more variables.
  package let readers: Set<Reader>

  package static let all: [Variable] =
    list([.responder, .companion, .relay], database + ["SWITCHBOARD_REQUIRE_AUTH", logLevel])
    + list([.responder, .companion], shared) + list([.responder], ofResponder)
    + list([.companion], ofCompanion + ofLibraries) + list([.relay], ["SWITCHBOARD_AGENT"])

  package static func names(readBy reader: Reader) -> [String] {
    all.filter { $0.readers.contains(reader) }.map(\.name)
  }

  /// Variables that libcurl reads. It does not support `NAME_FILE`.
  package static let ofLibraries = [
    "http_proxy", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY",
  ]

  private static func list(_ readers: Set<Reader>, _ names: [String]) -> [Variable] {
    names.map { Variable(name: $0, readers: readers) }
  }

  private static let logLevel = "SWITCHBOARD_LOG_LEVEL"

  private static let database = [
    "SWITCHBOARD_DB_SOCKET", "SWITCHBOARD_DB_HOST", "SWITCHBOARD_DB_CA", "SWITCHBOARD_DB_TLS",
    "SWITCHBOARD_DB_NAME", "SWITCHBOARD_DB_USER", "SWITCHBOARD_DB_PASSWORD",
  ]

  private static let shared = [
    "SWITCHBOARD_PUBLIC_URL", "WEBPUSH_HOSTS", "SWITCHBOARD_REPO", "CHECK_INTERVAL_SECONDS",
  ]

  private static let ofResponder = [
    "SWITCHBOARD_ENV", "SWITCHBOARD_WORKERS", "SWITCHBOARD_WAKE_SOCKET",
    "SWITCHBOARD_JWT_KEYS", "SWITCHBOARD_HMAC_KEYS", "SWITCHBOARD_PAYMENT_KEYS",
    "SWITCHBOARD_CREDENTIAL_KEYS", "SWITCHBOARD_COMPANION_PUBLIC_KEYS", "SWITCHBOARD_ATTESTATION",
    "SWITCHBOARD_APPLE_TEAM_ID", "SWITCHBOARD_APPLE_BUNDLE_IDS", "SWITCHBOARD_ATTESTATION_ROOT",
    "SWITCHBOARD_ANDROID_APPS", "SWITCHBOARD_PASSKEY_ORIGINS", "SWITCHBOARD_ALLOWED_ORIGINS",
    "PUSH_METADATA_LOOKUP_CONCURRENCY", "WEBPUSH_VAPID_PUBLIC_KEY", "SWITCHBOARD_PAIRING_ALLOW",
    "SWITCHBOARD_TRUSTED_PROXIES", "SWITCHBOARD_RELAY_SOCKET", "MASTER_API_KEY",
  ]

  private static let ofCompanion = [
    "SWITCHBOARD_DB_ROLES", "SWITCHBOARD_COMPANION_KEYS", "SWITCHBOARD_MAIL_COMMAND",
    "SWITCHBOARD_ADMINISTRATOR", "SWITCHBOARD_MAIL_DIRECTORY", "SWITCHBOARD_MAIL_FROM",
    "APNS_KEY_ID", "APNS_TEAM_ID", "APNS_BUNDLE_ID", "APNS_PRIVATE_KEY", "APNS_USE_SANDBOX",
    "APNS_RETRY_SECONDS", "APNS_SEND_CONCURRENCY", "APNS_ENDPOINT_OVERRIDE", "APNS_CA_CERT",
    "APNS_APPS", "FCM_SERVICE_ACCOUNT", "WEBPUSH_VAPID_KEY", "WEBPUSH_CA_CERT",
    "SWITCHBOARD_OUTBOUND_ALLOW", "CHECK_INTERVAL_LIVE_SECONDS", "SWITCHBOARD_SUBSTITUTES",
    "OGS_REQUESTS_PER_SECOND", "ENVIRONMENT", "SWITCHBOARD_METRICS_FILE", "SWITCHBOARD_AUDIT_DAYS",
    "SWITCHBOARD_CERTIFICATE_FINGERPRINT", "SWITCHBOARD_SECRETS_DIRECTORY", "SWITCHBOARD_COMMAND",
    "SWITCHBOARD_CONNECTION_LIMIT",
  ]
}
