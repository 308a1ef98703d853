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
  guard let id = request.formItem("id"), !id.isEmpty else {
    throw Failure.badRequest("id is required")
  }
  // Where the pairing has ended already, there is nothing to do.
  _ = try context.records.pairedDevices.revoke(id)
  return Response(status: 303, fields: [("Location", "/pair/phones")])
}

/// The phones that may reach the agent, each with a button that ends its pairing.
struct PhonesPage {
  let phones: [ListedDevice]
  let now: Timestamp

  var response: Response {
    Page(title: "Paired phones", content: content, referrerPolicy: "same-origin").response()
  }

  private var content: String {
    let count = phones.count == 1 ? "1 phone" : "\(phones.count) phones"
    return """
      <p>\(count) may reach the agent. <a href="/pair">Pair a phone</a></p>
      <ul>
      \(phones.map(item).joined(separator: "\n"))
      </ul>
      """
  }

  private func item(_ phone: ListedDevice) -> String {
    """
    <li><h3>\(phone.userAgent.htmlEscaped)</h3>
    <p>Last used \((now - phone.lastUsedAt).inWords) ago. Paired \((now - phone.pairedAt).inWords) ago from \
    \(phone.address.htmlEscaped).</p>
    <form method="post" action="/pair/phones">
    <input type="hidden" name="id" value="\(phone.id.htmlEscaped)">
    <button aria-label="End the pairing of \(phone.userAgent.htmlEscaped)">End</button>
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
