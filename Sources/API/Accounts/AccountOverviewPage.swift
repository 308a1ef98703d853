import Base
import Store

extension AccountPage {
  /// The page of somebody who has signed in.
  func overview(_ account: AccountOverview, sections: [AccountSection]) -> Page {
    let profile = account.profile
    let held = sections.map { section in
      html(
        of: section, account.holdings.first { "\($0.holding.name)" == section.holding },
        for: account.browserID)
    }
    return page(
      "Your account",
      """
      <p>Signed in as <strong><bdi>\(profile.account.email.htmlEscaped)</bdi></strong>.</p>
      \(form("/sign-out", "", button: "Sign out"))
      <section aria-labelledby="about"><h2 id="about">Name and address</h2>
      \(form(
        "/name",
        labeledField("name", label: "Name", value: profile.account.name, #"autocomplete="name" maxlength="200""#),
        button: "Change the name"))
      \(form(
        "/email",
        labeledField("email", label: "E-mail address", value: profile.account.email,
          #"type="email" autocomplete="email" maxlength="254""#),
        button: "Change the address"))
      \(pending(profile))
      </section>
      \(held.joined(separator: "\n"))
      <section aria-labelledby="all"><h2 id="all">Everything</h2>
      <p><a href="/account/export" download>Download what we keep for your account</a></p>
      <p><a href="/account/delete">Delete your account</a></p>
      </section>
      """)
  }

  private func pending(_ profile: Profile) -> String {
    guard let email = profile.pendingEmail else {
      return "<p>We mail a link to a new address. The address counts when you use the link.</p>"
    }
    return """
      <p>We have mailed a link to <bdi>\(email.htmlEscaped)</bdi>. The address counts when you use the link.</p>
      """
  }

  /// - Parameter browser: the id of the browser that asks.
  private func html(
    of section: AccountSection, _ held: HeldItems?, for browser: String
  ) -> String {
    let items = (held?.items ?? []).map { item in
      html(
        of: item, columns: held?.holding.columns ?? [], in: section,
        note: item.id == browser ? " (this browser)" : "")
    }
    let id = "section-\(section.holding)"
    let content =
      items.isEmpty
      ? "<p>\(section.none)</p>" : "<ul>\n\(items.joined(separator: "\n"))\n</ul>"
    return """
      <section aria-labelledby="\(id)"><h2 id="\(id)">\(section.title)</h2>
      \(content)
      </section>
      """
  }

  private func html(
    of item: HeldItem, columns: [Holding.Column], in section: AccountSection, note: String
  ) -> String {
    let shown = zip(columns, item.values).map { column, value in (column.name, value.html) }
    var heading = shown.first { $0.0 == section.heading }?.1 ?? ""
    if section.heading == "event" { heading = heading.replacing("_", with: " ") }
    heading += note
    let facts = shown.compactMap { name, value -> String? in
      guard let label = section.facts[name], !value.isEmpty else { return nil }
      return "<div><dt>\(label)</dt><dd>\(value)</dd></div>"
    }
    let removal = section.removal.map { removal in
      form(
        "/remove",
        """
        <input type="hidden" name="kind" value="\(section.holding)">
        <input type="hidden" name="id" value="\(item.id.htmlEscaped)">
        """, button: "\(removal.button) \(heading)")
    }
    return """
      <li><h3>\(heading)</h3>
      <dl>\(facts.joined(separator: "\n"))</dl>
      \(removal ?? "")</li>
      """
  }
}

extension HeldItem.Value {
  /// For a page; empty where there is nothing to show.
  fileprivate var html: String {
    switch self {
    case .text(let text): text.map { "<bdi>\($0.htmlEscaped)</bdi>" } ?? ""
    case .time(let time): time?.html ?? ""
    case .number(let number): number.map { "\($0)" } ?? ""
    case .flag(let flag): flag ? "yes" : "no"
    }
  }
}
