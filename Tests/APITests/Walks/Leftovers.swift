/// Changes that a refused request may leave behind, in addition to audit rows, limits and counters.
struct Leftovers {
  private let tables: [String: Set<String>]

  static func of(_ route: String) -> Leftovers {
    Leftovers(tables: always.merging(byRoute[route] ?? [:]) { $1 })
  }

  func contain(_ change: RowChange) -> Bool {
    if Self.isEndOfCopied(change) { return true }
    guard let columns = tables[change.table] else { return false }
    return columns == Self.anything
      || change.old != nil && change.new != nil && change.columns.isSubset(of: columns)
  }

  /// Whether the change belongs to the end of a session or pairing whose token was copied: on every route, the
  /// use of an access token of a dead branch is refused and ends it, and the owner gets a mail.
  private static func isEndOfCopied(_ change: RowChange) -> Bool {
    switch change.table {
    case "sessions", "pairings":
      change.new?["end_reason"] == "reuse"
        && change.columns.isSubset(of: ["ended_at", "end_reason", "confirmed"])
    case "outbox": change.old == nil && change.new?["kind"] == "refresh_reused"
    case "address_changes": change.new == nil
    default: false
    }
  }

  /// Changes before any comparison, and changes of a caller who is authenticated and then refused.
  private static let always: [String: Set<String>] = [
    "sessions": ["confirmed"],
    // A credential has arrived when it is first shown.
    "devices": [
      "last_used_at", "old_credential_hash", "old_credential_expires_at",
      "old_credential_trusted_at",
    ],
    // Written before the cards are read, so that changes run one after another.
    "accounts": ["cards_version"],
    "phone_challenges": ["spent_at"], "passkey_challenges": ["spent_at"],
    "login_codes": ["attempts", "others_attempts", "spent_at"], "payments": ["attempts"],
    "account_visits": ["form_hash", "challenge_hash"], "pairing_tickets": ["spent_at"],
    "pairings": ["confirmed", "last_used_at"], "ogs_users": ["asked_at"],
    "attestation_challenges": ["spent_at"],
  ]

  private static let anything: Set = ["anything"]

  private static let byRoute: [String: [String: Set<String>]] = [
    // This route answers 400 to say that it has mailed a code.
    "POST /api/mobile/auth/login/password": ["login_codes": anything, "outbox": anything],
    // A token used twice ends its family, and the owner gets a mail.
    "POST /api/mobile/auth/token/refresh": [
      "sessions": ["ended_at", "end_reason", "confirmed"], "address_changes": anything,
      "outbox": anything,
    ],
    "POST /api/auth/refresh": ["pairings": ["ended_at", "end_reason"]],
    // The page shows the end of an enrollment, also when it is opened again.
    "GET /api/enrollment/callback/:bsimId": ["enrollment_states": ["spent_at", "result"]],
    "POST /api/enrollment/callback/:bsimId": ["enrollment_states": ["spent_at", "result"]],
  ]
}
