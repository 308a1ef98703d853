import Base
import Store

extension AccountPage {
  /// The page of a person who has signed in.
  func overview(_ account: AccountOverview, sections: [AccountSection]) -> Page {
    let profile = account.profile
    return page(
      texts.title,
      """
      <p>\(texts.signedInAs) <strong><bdi>\(profile.account.email.htmlEscaped)</bdi></strong>.</p>
      \(form("/sign-out", button: texts.signOut))
      <section aria-labelledby="about"><h2 id="about">\(texts.about)</h2>
      \(form(
        "/name",
        labeledField("name", label: texts.name, value: profile.account.name,
          #"autocomplete="name" maxlength="200" dir="auto""#),
        button: texts.changeName))
      \(form(
        "/email",
        labeledField("email", label: texts.email, value: profile.account.email,
          #"type="email" autocomplete="email" maxlength="254" dir="ltr""#),
        button: texts.changeAddress))
      <p>\(profile.pendingEmail.map { texts.pendingAddress($0.pageText) } ?? texts.addressRule)</p>
      </section>
      \(sections.map { html(of: $0, for: account) }.joined(separator: "\n"))
      <section aria-labelledby="all"><h2 id="all">\(texts.everything)</h2>
      <p><a class="link" href="/account/export" download>\(texts.download)</a></p>
      \(Page.link("/account/delete", texts.delete))
      </section>
      """)
  }

  private func html(of section: AccountSection, for account: AccountOverview) -> String {
    let held = account.held(section.data)
    let items = (held?.items ?? []).enumerated().map { number, item in
      let shown = ShownItem(item, of: held!.data, in: section, on: self)
      let isOwn = item.id == account.browserID
      return row(
        "\(section.data)-\(number)", shown, note: isOwn ? " \(texts.thisBrowser)" : "")
    }
    let id = "section-\(section.data)"
    let sectionTexts = section.texts(language)
    let content =
      items.isEmpty
      ? "<p>\(sectionTexts.none)</p>" : "<ul>\n\(items.joined(separator: "\n"))\n</ul>"
    return """
      <section aria-labelledby="\(id)"><h2 id="\(id)">\(sectionTexts.title)</h2>
      \(content)
      </section>
      """
  }

  /// One item with its button at the end of the line. Screen readers read the button together with the item's name.
  private func row(_ id: String, _ item: ShownItem, note: String) -> String {
    let removal = item.texts.removal.map { removal in
      """
      <form action="/account/remove">
      <input type="hidden" name="kind" value="\(item.section.data)">
      <input type="hidden" name="id" value="\(item.id.htmlEscaped)">
      <button id="remove-\(id)" aria-labelledby="remove-\(id) \(id)">\(removal.button)</button>
      </form>
      """
    }
    return """
      <li class="row"><div><h3 id="\(id)">\(item.heading)\(note)</h3>
      \(item.content)</div>
      \(removal ?? "")</li>
      """
  }

  /// The page that asks whether to remove one item.
  ///
  /// - Throws: ``FormRefusal/gone``; ``FormRefusal/noFreshProof``.
  func removal(
    of id: String, ofKind kind: String, from account: AccountOverview, sections: [AccountSection]
  ) throws(FormRefusal) -> Page {
    guard let section = sections.first(where: { $0.data == kind }),
      let held = account.held(kind), let found = held.items.first(where: { $0.id == id }),
      let removal = section.texts(language).removal
    else { throw FormRefusal.gone }
    guard account.isFresh || !held.data.removalNeedsProof else {
      throw FormRefusal.noFreshProof
    }
    let item = ShownItem(found, of: held.data, in: section, on: self)
    let session = item.session.map {
      form("/remove", Self.fields(kind: "sessions", id: $0), button: texts.onlySignOut)
    }
    return page(
      removal.question,
      """
      <p><strong>\(item.heading)</strong></p>
      \(item.content)
      <p>\(removal.consequence)</p>
      \(form(
        "/remove", Self.fields(kind: kind, id: id), button: removal.button, isPrimary: true))
      \(session ?? "")
      <p><a class="button" href="/account">\(texts.keep)</a></p>
      """)
  }

  private static func fields(kind: String, id: String) -> String {
    """
    <input type="hidden" name="kind" value="\(kind.htmlEscaped)">
    <input type="hidden" name="id" value="\(id.htmlEscaped)">
    """
  }
}

extension AccountOverview {
  fileprivate func held(_ data: String) -> AccountItems? {
    accountData.first { "\($0.data.name)" == data }
  }
}

/// One item of an account, as the page shows it.
private struct ShownItem {
  let id: String
  let section: AccountSection
  let texts: AccountSection.Texts
  private let values: [(name: String, value: AccountItem.Value)]
  private let page: AccountPage

  init(
    _ item: AccountItem, of data: AccountData, in section: AccountSection, on page: AccountPage
  ) {
    id = item.id
    self.section = section
    self.page = page
    texts = section.texts(page.language)
    values = zip(data.columns, item.values).map { ($0.name, $1) }
  }

  private func text(_ name: String) -> String {
    switch values.first(where: { $0.name == name })?.value {
    case .text(let text)?: text ?? ""
    default: ""
    }
  }

  /// The heading as HTML.
  var heading: String {
    let name = text(section.heading)
    if section.heading == "event" {
      return EventTexts(in: page.language).sentence(named: name)
    }
    return name.isEmpty ? page.texts.unknownAddress : name.pageText
  }

  /// The id of a device's active session.
  var session: String? {
    let id = text("session")
    return id.isEmpty ? nil : id
  }

  /// The content as HTML.
  var content: String {
    guard section.heading != "event" else {
      let circumstance = EventTexts(in: page.language).circumstance(
        of: text("event"), detail: text("detail"))
      return (values.map { html(of: $0.value, named: $0.name) }.prefix(1) + [circumstance])
        .filter { !$0.isEmpty }.map { "<p>\($0)</p>" }.joined(separator: "\n")
    }
    return Page.list(
      values.compactMap { name, value in
        guard let label = texts.facts[name] else { return nil }
        let shown = html(of: value, named: name)
        return shown.isEmpty ? nil : (label, shown)
      })
  }

  /// The value as HTML; empty if there is nothing to show.
  private func html(of value: AccountItem.Value, named name: String) -> String {
    let language = page.language
    switch (name, value) {
    case ("platform", .text("ios")): return "iOS"
    case ("platform", .text("android")): return "Android"
    case ("platform", .text("macos")): return "macOS"
    case ("lastUsedAt", .time(let time?)): return time.html(before: page.now, in: language)
    case ("signedInUntil", .time(let time)):
      return time.map { page.texts.signedInUntil($0.html(in: language)) } ?? page.texts.notSignedIn
    case (_, .text(let text)): return text?.pageText ?? ""
    case (_, .time(let time)): return time?.html(in: language) ?? ""
    case (_, .number(let number)): return number.map { language.digits($0) } ?? ""
    case (_, .flag(let flag)): return flag ? "✓" : ""
    }
  }
}
