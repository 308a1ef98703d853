import Base
import Cryptography
import Foundation
import HTTP
import Logging
import Store
import Support

@testable import API

/// A responder with the walks' world in its database. Each walk begins with the same rows.
final class WalkSite {
  let site: TestApplication
  let world: WalkWorld
  let watch: RowWatch
  /// The owner of the attacked account.
  private(set) var target: WalkWorld.Person
  let routes: [Route]
  /// The described limits of each route.
  let limits: [String: [Limit]]
  private let application: Application
  let firstInstant: Timestamp
  private(set) var calls = 0

  init(_ site: TestApplication) throws {
    self.site = site
    world = try WalkWorld(site)
    target = world.owner
    watch = try RowWatch(site.root)
    firstInstant = site.now
    // No companion runs here, so nothing waits for it.
    application = .ofTests(
      site.database, settings: WalkWorld.settings,
      log: Logger(label: "walks") { _ in SwiftLogNoOpLogHandler() }, clock: site.clock.read,
      beginWaiting: { false }, waitLimit: .zero)
    routes = application.families.flatMap(\.routes)
    limits = Dictionary(
      uniqueKeysWithValues: routes.map {
        ("\($0.method) \($0.path)", $0.endpoint.operation().limits)
      })
  }

  var now: Timestamp { site.now }

  /// Restores everything for a walk of an actor.
  func restore(for actor: Actor) throws {
    target = actor.target(in: world)
    try watch.restore()
    site.advance(by: firstInstant - site.now)
  }

  func respond(to request: Request) -> Response {
    calls += 1
    return application.checkedResponse(to: request)
  }

  /// Texts that only the account's owner may see.
  func marks(of account: String) -> [String] {
    people.first { $0.accountID == account }?.marks ?? []
  }

  /// Everyone except the actor.
  var people: [WalkWorld.Person] {
    [world.owner, world.plainOwner, world.bystander, world.waiting]
  }

  /// The secret of the newest mail of a kind to an address.
  func mailed(_ kind: String, to email: String) -> String? {
    let mails = watch.rows(of: "outbox").filter {
      $0["kind"] == kind && $0["recipient"] == email && $0["sealed"] != nil
    }
    return mails.max { ($0["created_at"] ?? "") < ($1["created_at"] ?? "") }.flatMap {
      secret(of: $0)
    }
  }

  /// The secret that the companion would write into a mail.
  func secret(of mail: WatchedRow) -> String? {
    guard let sealed = mail["sealed"], let id = mail["id"] else { return nil }
    return try? site.mailContent(sealed, ofMail: id).secret
  }
}

extension WalkCall {
  /// The request with all values; nil if a value is unknown.
  func request(knowing known: KnownValues, from address: String) -> Request? {
    var path = self.path
    if let pathItem {
      guard let item = known.value(pathItem) else { return nil }
      path = path.split(separator: "/", omittingEmptySubsequences: false)
        .map { $0.hasPrefix(":") ? item.text : String($0) }.joined(separator: "/")
    }
    var fields: [(name: String, value: String)] = []
    for item in self.fields {
      guard let value = known.value(item.value) else { return nil }
      fields.append((item.name, item.name == "Authorization" ? "Bearer \(value.text)" : value.text))
    }
    var parts: [String] = []
    for item in query {
      guard let value = known.value(item.value) else { return nil }
      parts.append("\(item.name)=\(value.text.percentEncoded)")
    }
    let query = parts.joined(separator: "&")
    guard let body = body(knowing: known) else { return nil }
    if isForm { fields.append(("Content-Type", "application/x-www-form-urlencoded")) }
    // Web servers ask the authorizer about a request to the agent.
    let target = path == Request.authorizationPath ? "/ws?\(query)" : nil
    return Request(
      method: method, path: path, query: query, fields: fields, body: Array(body.utf8),
      remoteAddress: address, requestID: "walk", requestURI: target)
  }

  private func body(knowing known: KnownValues) -> String? {
    var parts: [String] = []
    for item in members {
      guard let value = known.value(item.value) else { return nil }
      if isForm {
        parts.append("\(item.name)=\(value.text.percentEncoded)")
      } else {
        parts.append("\"\(item.name)\":\(value.isJSON ? value.text : quoted(value.text))")
      }
    }
    guard method != "GET", !parts.isEmpty else { return "" }
    return isForm ? parts.joined(separator: "&") : "{\(parts.joined(separator: ","))}"
  }

  private func quoted(_ text: String) -> String {
    let data = try! JSONSerialization.data(withJSONObject: text, options: .fragmentsAllowed)
    return String(decoding: data, as: UTF8.self)
  }
}
