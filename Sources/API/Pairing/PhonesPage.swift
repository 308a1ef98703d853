import Base
import HTTP
import Store

/// `GET /pair/phones`: a page with the phones that may reach the agent.
///
/// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``.
func getPhonesPage(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.requirePairingAccess(request)
  return PhonesPage(phones: try context.records.pairedDevices.list(), now: context.now).response
}

/// `POST /pair/phones`: a button of that page, which ends the pairing of one phone.
///
/// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``; ``Failure/badRequest(_:)``.
func endPairing(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.requirePairingAccess(request)
  // Where the pairing has ended already, there is nothing to do.
  _ = try context.records.pairedDevices.revoke(request.phoneID)
  return backToPhones
}

/// `POST /pair/phones/name`: a form of that page, which names one phone.
///
/// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``; ``Failure/badRequest(_:)``.
func renamePhone(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.requirePairingAccess(request)
  let id = try request.phoneID
  guard let text = request.formItem("name") else { throw Failure.badRequest("name is required") }
  guard let name = PhoneName(text) else { throw Failure.badRequest(PhoneName.rule) }
  _ = try context.records.pairedDevices.rename(id, to: name)
  return backToPhones
}

private let backToPhones = Response(status: 303, fields: [("Location", "/pair/phones")])

extension Request {
  fileprivate var phoneID: String {
    get throws {
      guard let id = formItem("id"), !id.isEmpty else {
        throw Failure.badRequest("id is required")
      }
      return id
    }
  }
}

/// The phones that may reach the agent, the last used one first, each with a form that names it and a button
/// that ends its pairing.
struct PhonesPage {
  let phones: [ListedDevice]
  let now: Timestamp

  var response: Response {
    Page(title: "Paired phones", content: content, referrerPolicy: "same-origin").response()
  }

  private var content: String {
    let count = phones.count == 1 ? "1 phone" : "\(phones.count) phones"
    return """
      <p>\(count) may reach the agent. The one that was used last comes first. A phone that is not used for a week
      has to pair again. <a href="/pair">Pair a phone</a></p>
      <ul>
      \(phones.map(item).joined(separator: "\n"))
      </ul>
      """
  }

  private func item(_ phone: ListedDevice) -> String {
    let (id, name) = (phone.id.htmlEscaped, phone.name.htmlEscaped)
    let app = phone.givenName == nil ? "" : "App: \(phone.userAgent.htmlEscaped). "
    return """
      <li><h3>\(name)</h3>
      <p>\(app)Last used \((now - phone.lastUsedAt).inWords) ago. Paired \((now - phone.pairedAt).inWords) ago from \
      \(phone.address.htmlEscaped).</p>
      <form method="post" action="/pair/phones/name">
      <input type="hidden" name="id" value="\(id)">
      <label>Name <input name="name" value="\((phone.givenName ?? "").htmlEscaped)" maxlength="64"></label>
      <button aria-label="Rename \(name)">Rename</button>
      </form>
      <form method="post" action="/pair/phones">
      <input type="hidden" name="id" value="\(id)">
      <button aria-label="End the pairing of \(name)">End</button>
      </form></li>
      """
  }
}

extension Duration {
  /// How long it is, for people: "9 minutes".
  var inWords: String {
    let seconds = max(0, components.seconds)
    for (unit, size) in [("day", Int64(86_400)), ("hour", 3600), ("minute", 60)]
    where seconds >= size {
      let number = seconds / size
      return number == 1 ? "1 \(unit)" : "\(number) \(unit)s"
    }
    return seconds == 1 ? "1 second" : "\(seconds) seconds"
  }
}
