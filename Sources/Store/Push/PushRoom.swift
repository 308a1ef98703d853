extension Room {
  static let push = Room(
    name: "Push",
    seals: [
      """
      SELECT DISTINCT SUBSTRING_INDEX(sealed, '.', 1)
      FROM web_subscriptions FORCE INDEX (web_subscriptions_sealed) WHERE sealed > 'box:'
      """
    ])
}
