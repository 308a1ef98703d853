import Foundation

extension TestApplication {
  /// A bank that takes no enrolments.
  func addBank(_ id: String, _ name: String, logo: String?) {
    let logo = logo.map { "'\($0)'" } ?? "NULL"
    sql("INSERT INTO banks (bsim_id, name, logo_url) VALUES ('\(id)', '\(name)', \(logo))")
  }

  /// - Returns: the enrolment's id.
  func enroll(_ person: SignedIn, _ bank: String, day: Int) -> String {
    let id = UUID().uuidString.lowercased()
    sql(
      """
      INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at)
      VALUES ('\(id)', '\(person.accountID)', '\(bank)', '2024-01-\(day)')
      """)
    return id
  }

  /// - Returns: the card's id.
  @discardableResult
  func addCard(
    _ enrollment: String, _ digits: String, type: String = "VISA", isDefault: Bool = false,
    active: Bool = true, day: Int = 15
  ) -> String {
    let id = UUID().uuidString.lowercased()
    sql(
      """
      INSERT INTO cards (id, enrollment_id, last_four, card_type, is_default, active, added_at)
      VALUES ('\(id)', '\(enrollment)', '\(digits)', '\(type)', \(isDefault), \(active),
        '2024-01-\(day) 00:00:00')
      """)
    return id
  }

  /// The last four digits of the active cards as the summary shows them, `*` at the default.
  func cards(of person: SignedIn) -> [String] {
    (summary(person.accessToken)["cards"] as? [[String: Any]] ?? []).map {
      "\($0["lastFour"] ?? "")\($0["isDefault"] as? Bool == true ? "*" : "")"
    }
  }
}
