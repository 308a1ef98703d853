import Base
import HTTP
import Store

/// `POST /account/name`: changes the name.
func changeName(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.fulfill(request) {
    let name = try ShortText(item: "name", of: request).text
    try context.records.accountVisits.rename(to: name, by: context.sentForm(request))
    return ("name", nil)
  }
}

/// `POST /account/email`: mails a link that confirms the account's new address. The answer is the same
/// whether an account has that address or not.
func askForAddress(_ request: Request, in context: borrowing Context) throws -> Response {
  let startedAt = ContinuousClock.now
  return try context.fulfill(request) {
    let email = try EmailAddress(item: "email", of: request).text
    try context.records.accountVisits.changeAddress(
      by: context.sentForm(request), to: context.makeAddressChange(to: email))
    context.wakeCompanion()
    context.waitForAnswerTime(since: startedAt)
    return ("email", nil)
  }
}

/// `GET /account/remove?kind=…&id=…`: asks whether to remove the item.
func askForRemoval(_ request: Request, in context: borrowing Context) throws -> Response {
  let sections = context.accountSections
  return try context.accountPage(of: request) { page, account throws(FormRefusal) in
    try page.removal(
      of: request.queryItem("id") ?? "", ofKind: request.queryItem("kind") ?? "", from: account,
      sections: sections)
  }
}

/// `POST /account/remove`: removes an item, such as a device or a passkey, or ends a session.
func removeItem(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.fulfill(request) {
    let kind = request.formItem("kind") ?? ""
    try context.records.accountVisits.remove(
      request.formItem("id") ?? "", ofKind: kind, by: context.sentForm(request))
    return (kind, nil)
  }
}

/// `GET /account/delete`: asks whether to delete the account.
func askForDeletion(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.accountPage(of: request) { page, account in page.deletion(of: account) }
}

/// `POST /account/delete`: deletes the account.
func confirmDeletion(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.fulfill(request) {
    try context.records.accountVisits.deleteAccount(by: context.sentForm(request))
    context.wakeCompanion()
    return ("deleted", nil)
  }
}

/// `GET /account/export`: returns the account's stored data as a file, without secrets and hashes.
func download(_ request: Request, in context: borrowing Context) throws -> Response {
  guard let visit = context.visit(of: request),
    let account = try context.records.accountVisits.download(visit)
  else { return try context.accountPage(of: request, status: 403) }
  var response = Response.json { json in
    json.member("site", context.settings.publicURL)
    json.member("downloadedAt", context.now.rfc3339)
    json.member("accountId", account.profile.account.id)
    for held in account.accountData {
      json.member(
        held.data.name,
        array: { array in
          for item in held.items { array.object { $0.members(of: item, held.data.columns) } }
        })
    }
  }
  response.fields.append(("Content-Disposition", #"attachment; filename="account.json""#))
  return response
}

extension JSONWriter {
  fileprivate mutating func members(of item: AccountItem, _ columns: [AccountData.Column]) {
    member("id", item.id)
    for (column, value) in zip(columns, item.values) {
      switch (column, value) {
      case (.text(let name), .text(let text)): member(name, text)
      case (.time(let name), .time(let time)): member(name, time?.rfc3339)
      case (.number(let name), .number(let number)):
        if let number { member(name, number) } else { member(name, nil as String?) }
      case (.flag(let name), .flag(let flag)): member(name, flag)
      default: preconditionFailure("a value is of its column's type")
      }
    }
  }
}

extension Endpoint {
  static var changeName: Endpoint {
    Endpoint(API.changeName) {
      Operation.form("Changes the name.", ["name": ShortText.schema])
    }
  }

  static var askForAddress: Endpoint {
    Endpoint(API.askForAddress) {
      Operation.form(
        "Mails a link that confirms the account's new address.", ["email": EmailAddress.schema],
        limits: [.addressChanges, .addressChangesByAddress])
    }
  }

  static var askForRemoval: Endpoint {
    Endpoint(API.askForRemoval) {
      Operation(
        "Shows a page that asks whether to remove an item of the account.", .browser,
        query: [
          .init("kind", "The kind of the item, such as `devices`."), .init("id", "The item's id."),
        ], answers: .page("The question, or the sign-in."), errors: [.itemGone, .proofTooOld])
    }
  }

  static var removeItem: Endpoint {
    Endpoint(API.removeItem) {
      Operation.form(
        "Removes an item, such as a device or a passkey, or ends a session.",
        ["kind": .string, "id": .string])
    }
  }

  static var askForDeletion: Endpoint {
    Endpoint(API.askForDeletion) {
      Operation(
        "Shows a page that asks whether to delete the account.", .browser,
        answers: .page("The question, or the sign-in."))
    }
  }

  static var confirmDeletion: Endpoint {
    Endpoint(API.confirmDeletion) {
      Operation.form("Deletes the account.", [:])
    }
  }

  static var download: Endpoint {
    Endpoint(API.download) {
      Operation(
        "Returns the account's stored data as a file, without secrets.", .browser,
        answers: .json(
          (["site": .uri, "downloadedAt": .time, "accountId": .uuid] as Schema)
            .with("additionalProperties", Schema.array(of: Schema(types: ["object"])).json),
          meaning: "A list for each kind of data.", fields: ["Content-Disposition"]),
        errors: [.signInFirst])
    }
  }
}
