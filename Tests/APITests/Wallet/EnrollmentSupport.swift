import Administration
import Base
import Cryptography
import Delivery
import Foundation
import HTTP
import Store
import Support
import Testing

@testable import API

extension TestApplication {
  /// Adds a bank that accepts no enrollments.
  func addBank(_ id: String, _ name: String, logo: String?) {
    let logo = logo.map { "'\($0)'" } ?? "NULL"
    sql("INSERT INTO banks (bsim_id, name, logo_url) VALUES ('\(id)', '\(name)', \(logo))")
  }

  /// - Returns: the enrollment's id.
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

/// A started enrollment, with the values for the app.
struct StartedEnrollment {
  /// The bank's URL.
  let url: String
  let id: String
  /// The browser's cookie, in the form that it sends back.
  var cookie: String?

  private var items: [URLQueryItem] { URLComponents(string: url)?.queryItems ?? [] }

  /// The value of `name` in the bank's URL.
  func item(_ name: String) -> String? { items.first { $0.name == name }?.value }

  /// The URL with another value for `name`.
  func changing(_ name: String, to value: String) -> String {
    var changed = URLComponents(string: url)!
    changed.queryItems = items.map { $0.name == name ? URLQueryItem(name: name, value: value) : $0 }
    return changed.string!
  }
}

extension TestApplication {
  /// Connects `bank`, like an administrator.
  func connect(_ bank: FakeBank, _ id: String = "test-bank", name: String = "Test Bank") throws {
    let database = Database(accountSettings(of: "companion", in: root))
    let banks = BankAdministration(records: database.records(at: now, from: .companion))
    try banks.add(
      BankConnection(
        bsimID: id, name: name, logoURL: nil, authorizationURL: "\(bank.url)/authorize",
        tokenURL: "\(bank.url)/token", cardsURL: "\(bank.url)/cards", clientID: bank.clientID,
        scope: "openid cards"), secret: bank.clientSecret, sealedFor: CompanionKeys(Self.boxKeys))
  }

  /// Begins an enrollment, like the app.
  func startEnrollment(by person: SignedIn, at bank: String = "test-bank") throws
    -> StartedEnrollment
  {
    let answer = send(
      "POST", "/api/mobile/enrollment/start/\(bank)", token: person.accessToken)
    try #require(answer.status == 200, "\(answer.text)")
    return StartedEnrollment(
      url: try #require(answer.string("authUrl")), id: try #require(answer.string("enrollmentId")))
  }

  /// Begins an enrollment, like a page.
  func startEnrollmentInBrowser(by person: SignedIn, query: String = "") throws
    -> StartedEnrollment
  {
    let answer = send(
      "GET", "/api/enrollment/start/test-bank", token: person.accessToken, query: query)
    try #require(answer.status == 302, "\(answer.text)")
    let cookie = try #require(answer.field("Set-Cookie")?.split(separator: ";").first)
    Evidence.keep(secret: String(cookie.split(separator: "=").last ?? ""))
    return StartedEnrollment(
      url: try #require(answer.field("Location")), id: "", cookie: String(cookie))
  }

  /// Follows the bank's redirect back to the site.
  func visit(
    _ location: String, application: Application? = nil, cookie: String? = nil,
    address: String = "192.0.2.1"
  ) -> Answer {
    let (path, query) = Self.parts(of: location)
    return (application ?? self.application).answer(
      to: Request(
        path: path, query: query, fields: cookie.map { [(name: "Cookie", value: $0)] } ?? [],
        remoteAddress: address, requestID: "request-1"))
  }

  /// Follows the redirect, and answers yes if the page asks.
  func comeBack(
    to location: String, application: Application? = nil, cookie: String? = nil,
    address: String = "192.0.2.1"
  ) -> Answer {
    let answer = visit(location, application: application, cookie: cookie, address: address)
    guard answer.text.contains(#"<form method="post""#) else { return answer }
    return confirm(location, application: application, address: address, cookie: cookie)
  }

  /// Sends the form of the question, with the bank's values.
  func confirm(
    _ location: String, application: Application? = nil, address: String = "198.51.100.7",
    type: String? = "application/x-www-form-urlencoded", cookie: String? = nil,
    origin: String? = publicURL
  ) -> Answer {
    let (path, query) = Self.parts(of: location)
    let fields = [("Content-Type", type), ("Cookie", cookie), ("Origin", origin)].compactMap {
      name, value in value.map { (name: name, value: $0) }
    }
    return (application ?? self.application).send(
      "POST", path, query, fields: fields, address: address)
  }

  private static func parts(of location: String) -> (path: String, query: String) {
    let parts = location.dropFirst(publicURL.count).split(separator: "?", maxSplits: 1)
    return (String(parts.first ?? ""), parts.count > 1 ? String(parts[1]) : "")
  }

  /// Runs a whole enrollment in the app, while a companion runs.
  ///
  /// - Returns: the URL that the app gets.
  func enroll(_ person: SignedIn, at bank: FakeBank) throws -> String {
    let location = try #require(bank.consent(to: try startEnrollment(by: person).url))
    let answer = try withCompanion(of: .banks) { comeBack(to: location) }
    try #require(answer.status == 302)
    return answer.field("Location") ?? ""
  }

  /// Expects that the bank gets no request and nothing is stored.
  func expectInvalidState(
    _ bank: FakeBank, _ location: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let before = rows("jobs")
    let answer = comeBack(to: location)
    #expect(answer.status == 302, sourceLocation: sourceLocation)
    #expect(
      failedEnrollment("invalid_state", in: answer.field("Location")),
      sourceLocation: sourceLocation)
    #expect(rows("jobs") == before, sourceLocation: sourceLocation)
    #expect(bank.exchanges == 0, sourceLocation: sourceLocation)
    #expect(stored == 0, sourceLocation: sourceLocation)
  }

  /// The number of rows that enrollments have written.
  var stored: Int { count("enrollments") + count("cards") }

  /// A second responder that waits only briefly for the companion.
  func impatientSibling(
    waitLimit: Duration = .milliseconds(50), beginWaiting: @escaping @Sendable () -> Bool = { true }
  ) -> Application {
    sibling(beginWaiting: beginWaiting, waitLimit: waitLimit)
  }
}

/// Calls `body` with Ann and a site with a connected bank.
func withBank(_ body: (TestApplication, SignedIn, FakeBank) throws -> Void) throws {
  let bank = try #require(FakeBank())
  defer { bank.end() }
  try withApplication { site in
    try site.connect(bank)
    try body(site, site.signUp(), bank)
  }
}

extension Answer {
  /// Whether the answer is a page with this sentence and a link back to the app.
  func isEnrollmentError(_ status: Int, _ sentence: String) -> Bool {
    self.status == status && field("Content-Type") == "text/html; charset=utf-8"
      && text.contains("<p>\(sentence.htmlEscaped)</p>")
      && text.contains(#"href="mwsim://enrollment/callback?success=false&amp;error="#)
      && text.contains(">Open the app</a>")
  }
}

/// Whether `location` tells the app that the enrollment failed with `error`.
func failedEnrollment(_ error: String, in location: String?) -> Bool {
  location?.hasPrefix("mwsim://enrollment/callback?success=false&error=\(error)&message=") == true
    && location?.contains(" ") == false
}
