import Base

/// The page `/docs`: a section for each family, with its operations.
struct APIDocsPage {
  let families: [Family]
  let publicURL: String

  var content: String {
    let links = families.map { family in
      """
      <li><a class="link" href="#\(family.name)">\(family.name)</a><br>\(family.purpose.htmlEscaped)</li>
      """
    }
    return """
      <p>\(APIDescription.text.html)</p>
      <p>Programs read the same in this file, for example to generate a client:</p>
      \(Page.link("/openapi.json", "openapi.json"))
      <ul>
      \(links.joined(separator: "\n"))
      </ul>
      \(families.map(section).joined(separator: "\n"))
      """
  }

  private func section(_ family: Family) -> String {
    let operations = (family.routes + family.relayed).map { html(of: $0, in: family) }
    return """
      <section aria-labelledby="\(family.name)"><h2 id="\(family.name)">\(family.name)</h2>
      <p>\(family.purpose.htmlEscaped)</p>
      <ul>
      \(operations.joined(separator: "\n"))
      </ul>
      </section>
      """
  }

  private func html(of route: Route, in family: Family) -> String {
    let operation = route.endpoint.operation()
    var facts: [(name: String, value: String)] = []
    if let access = operation.access.text { facts.append(("access", access)) }
    if let item = operation.item, let name = route.itemName {
      facts.append((name, describe("in the path", item.meaning, item.schema)))
    }
    for parameter in operation.query {
      facts.append(
        (parameter.name, describe("in the query", parameter.meaning, parameter.schema)))
    }
    for parameter in operation.fields {
      facts.append(
        (parameter.name, describe("header field", parameter.meaning, parameter.schema)))
    }
    if let body = operation.body {
      facts.append(
        ("body", "\(body.type)\(body.isRequired ? "" : ", optional"): \(body.schema.html)"))
    }
    for answer in operation.answers + operation.errorAnswers(at: route, of: family) {
      let isData = answer.type == "application/json"
      let content = isData ? answer.schema.html : answer.type.map { "<code>\($0)</code>" } ?? ""
      facts.append(("\(answer.status)", "\(answer.meaning.html) \(content)"))
    }
    return """
      <li><h3>\(route.method) <code>\(route.templatePath.htmlEscaped)</code></h3>
      <p>\(operation.text.html)</p>
      \(Page.list(facts))
      <p>\(example(of: route, operation))</p></li>
      """
  }

  private func describe(_ place: String, _ meaning: String, _ schema: Schema) -> String {
    "\(meaning.html) (\(place), \(schema.html))"
  }

  /// A command that calls the operation.
  private func example(of route: Route, _ operation: Operation) -> String {
    var words = ["curl"]
    if route.method != "GET" { words.append("-X \(route.method)") }
    for credential in operation.access.alternatives.first ?? [] {
      words.append(credential.example)
    }
    if let body = operation.body, body.type == "application/json",
      let example = body.schema.sample
    {
      words.append("--json '\(String(decoding: example.text, as: UTF8.self))'")
    }
    words.append("\(publicURL)\(route.templatePath)")
    return "<code>\(words.joined(separator: " ").htmlEscaped)</code>"
  }
}

extension Access {
  /// The credentials in words; nil if the operation needs none.
  fileprivate var text: String? {
    let sets = alternatives.map { set in
      set.isEmpty ? "none" : set.map { "<code>\($0.rawValue)</code>" }.joined(separator: " and ")
    }
    return sets.isEmpty ? nil : sets.joined(separator: ", or ")
  }
}

extension Access.Credential {
  /// The option of curl.
  fileprivate var example: String {
    switch self {
    case .accessToken, .pairedPhone: #"-H "Authorization: Bearer $TOKEN""#
    case .deviceCredential: #"-H "X-Device-Credential: $CREDENTIAL""#
    case .username: #"-H "X-Username: $NAME""#
    case .merchantKey, .apiKey: #"-H "X-API-Key: $KEY""#
    case .browserCookie, .enrollmentCookie: "-b cookies"
    case .pairingTicket: ""
    }
  }
}

extension Schema {
  /// The form in words.
  fileprivate var html: String {
    if !members.isEmpty {
      let texts = members.map { member in
        "<code>\(member.name)\(member.isRequired ? "" : "?")</code> \(member.schema.html)"
      }
      return "{ \(texts.joined(separator: "; ")) }"
    }
    if !choices.isEmpty { return choices.map(\.html).joined(separator: " or ") }
    if let element = elements.first { return "[ \(element.html), … ]" }
    var words = [types.isEmpty ? "any" : types.joined(separator: " or ")]
    for (name, value) in keywords
    where ["format", "enum", "minimum", "maximum", "minLength", "maxLength"].contains(name) {
      words.append("\(name) \(String(decoding: value.text, as: UTF8.self))".htmlEscaped)
    }
    return words.joined(separator: ", ")
  }

  /// A value of this form, of required members only; nil if there is none.
  fileprivate var sample: JSONValue? {
    if let example { return example }
    if let choice = choices.first { return choice.sample }
    guard types == ["object"] else { return types == ["string"] ? "…" : nil }
    return .object(
      members.filter(\.isRequired).compactMap { member in
        member.schema.sample.map { (member.name, $0) }
      })
  }
}

extension String {
  /// The text as HTML: words in backticks are code, and each line begins a new one.
  fileprivate var html: String {
    htmlEscaped.replacing(/`([^`]+)`/) { "<code>\($0.1)</code>" }.replacing("\n", with: "<br>")
  }
}
