import Base
import HTTP
import Store

/// `GET /pair/phones`: shows a page with the phones that may reach the agent.
///
/// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``.
func getPhonesPage(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.requirePairingAccess(request)
  return PhonesPage(
    phones: try context.records.pairedDevices.list(), now: context.now,
    language: request.messageLanguage
  ).response
}

/// `POST /pair/phones`: ends the pairing of one phone, for a button of that page.
///
/// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``; ``Failure/badRequest(_:)``.
func endPairing(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.requirePairingAccess(request)
  // If the pairing has already ended, there is nothing to do.
  _ = try context.records.pairedDevices.revoke(request.phoneID)
  return backToPhones
}

/// `POST /pair/phones/name`: renames one phone, for a form of that page.
///
/// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``; ``Failure/badRequest(_:)``.
func renamePhone(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.requirePairingAccess(request)
  let id = try request.phoneID
  guard let text = request.formItem("name") else { throw Failure.badRequest(\.name.request) }
  guard let name = PhoneName(text) else { throw Failure.badRequest(\.phoneNameRule) }
  _ = try context.records.pairedDevices.rename(id, to: name)
  return backToPhones
}

private let backToPhones = Response(status: 303, fields: [("Location", "/pair/phones")])

extension Request {
  fileprivate var phoneID: String {
    get throws {
      guard let id = formItem("id"), !id.isEmpty else {
        throw Failure.badRequest(\.formIncomplete)
      }
      return id
    }
  }
}

extension Endpoint {
  static var getPhonesPage: Endpoint {
    Endpoint(API.getPhonesPage) {
      Operation(
        "Shows a page with the phones that may reach the agent. \(ownNetwork)",
        answers: .page("The page."), errors: .ofPairing)
    }
  }

  static var endPairing: Endpoint {
    Endpoint(API.endPairing) {
      Operation(
        "Ends the pairing of one phone. \(ownNetwork)", body: .form(["id": .string]),
        answers: .redirect(303, "Back to the page."),
        errors: .ofPairing + [.badRequest(\.formIncomplete)])
    }
  }

  static var renamePhone: Endpoint {
    Endpoint(API.renamePhone) {
      Operation(
        "Renames one phone. \(ownNetwork)",
        body: .form(["id": .string, "name": .string.with("maxLength", 64)]),
        answers: .redirect(303, "Back to the page."),
        errors: .ofPairing + [.badRequest(\.formIncomplete), .badRequest(\.phoneNameRule)])
    }
  }
}

/// The phones that may reach the agent, the last used phone first. Each has a form that renames it and a button
/// that ends its pairing.
struct PhonesPage {
  let phones: [ListedDevice]
  let now: Timestamp
  let language: Language

  private var texts: PairingTexts { PairingTexts(in: language) }

  var response: Response {
    Page(language: language, title: texts.phones, content: content, referrerPolicy: "same-origin")
      .response()
  }

  private var content: String {
    """
    <p>\(language.count(Int64(phones.count), texts.number)) \(texts.phonesRule)</p>
    <p><a class="button primary" href="/pair">\(texts.pairPhone)</a></p>
    <ul>
    \(phones.enumerated().map(item).joined(separator: "\n"))
    </ul>
    """
  }

  /// One phone of the list. Screen readers read its buttons together with its name.
  private func item(_ number: Int, _ phone: ListedDevice) -> String {
    let id = phone.id.htmlEscaped
    let app = phone.givenName == nil ? "" : "\(texts.app(phone.userAgent.pageText)) "
    let lastUsed = texts.lastUsed(phone.lastUsedAt.html(before: now, in: language))
    let paired = texts.pairedBefore(phone.pairedAt.html(before: now, in: language))
    func button(_ name: String, _ text: String) -> String {
      """
      <button id="\(name)-\(number)" aria-labelledby="\(name)-\(number) phone-\(number)">\(text)</button>
      """
    }
    return """
      <li><div class="row"><div><h3 id="phone-\(number)">\(phone.name.pageText)</h3>
      <p>\(app)\(lastUsed) \(paired) \(texts.from(phone.address.pageText))</p></div>
      <form method="post" action="/pair/phones">
      <input type="hidden" name="id" value="\(id)">
      \(button("end", texts.end))
      </form></div>
      <form class="row" method="post" action="/pair/phones/name">
      <div><input type="hidden" name="id" value="\(id)">
      <label>\(texts.name) <input name="name" value="\((phone.givenName ?? "").htmlEscaped)" maxlength="64" dir="auto"></label></div>
      \(button("rename", texts.rename))
      </form></li>
      """
  }
}
