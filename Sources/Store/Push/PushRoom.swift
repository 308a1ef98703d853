extension Room {
  static let push = Room(
    seals: [
      """
      SELECT DISTINCT SUBSTRING_INDEX(sealed, '.', 1)
      FROM web_subscriptions FORCE INDEX (web_subscriptions_sealed) WHERE sealed > 'box:'
      """
    ],
    subscriptions: SealedSubscriptions(
      find: """
        SELECT s.token, s.sealed
        FROM JSON_TABLE(?, '$[*]' COLUMNS (token VARCHAR(512) PATH '$')) AS wanted
        STRAIGHT_JOIN web_subscriptions s ON s.token = wanted.token
        """,
      findSealedOtherwise: """
        SELECT token, sealed FROM web_subscriptions FORCE INDEX (web_subscriptions_sealed)
        WHERE sealed < ? OR sealed > CONCAT(?, '~') LIMIT 500
        """,
      replace: "UPDATE web_subscriptions SET sealed = ? WHERE token = ? AND sealed = ?"))
}
