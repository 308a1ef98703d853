import Base
import Cryptography
import Foundation
import HTTP
import Store

@testable import API

/// A broken rule.
struct Violation: Sendable {
  /// Equal for the same problem.
  let rule: String
  let detail: String
}

/// The rules that are checked after each call of an actor.
struct WalkRules {
  let actor: Actor
  let site: WalkSite
  /// Routes that answer 401 without a token.
  let guarded: Set<String>
  private var ownAccounts: Set<String>
  private let ownPairing: String?
  /// Accepted single-use values: route, name and value.
  private var spent: Set<String> = []
  /// Keys of deleted rows.
  private var gone: Set<String> = []

  init(_ actor: Actor, at site: WalkSite, guarded: Set<String>) throws {
    self.actor = actor
    self.site = site
    self.guarded = guarded
    ownAccounts = [site.world.thief.accountID]
    ownPairing =
      actor == .pairedPhone ? try site.site.payload(site.world.paired[0].refresh).deviceID : nil
  }

  /// The broken rules of a call of the actor.
  mutating func violations(
    _ call: WalkCall, _ request: Request, _ response: Response, _ changes: [RowChange],
    knowing known: KnownValues, hasEnded: Bool
  ) -> [Violation] {
    for change in changes where change.table == "accounts" && change.old == nil {
      ownAccounts.insert(change.key)
    }
    var found = takenFromWaiting(call, changes)
    if let violation = serverError(call, response) { found.append(violation) }
    found += foreignChanges(call, changes, hasEnded: hasEnded)
    if (400..<500).contains(response.status) { found += leftovers(call, changes) }
    found += foreignData(call, request, response, known, hasEnded: hasEnded)
    let isAccepted = (200..<400).contains(response.status)
    if isAccepted {
      found += misplaced(call)
      found += secondTimes(call, known)
      found += uses(ofGone: call, known)
    }
    if call.isBearerAlone { found += deadBearer(call, response, changes, known) }
    for change in changes where change.new == nil { gone.insert(change.key) }
    return found
  }

  /// Limits that the call counted, and that the description of the API lacks or has with another number.
  func undescribed(_ counted: [(name: String, allowed: Int64)], by call: WalkCall) -> [Violation] {
    let described = site.limits[call.route, default: []]
    return counted.filter { name, allowed in
      !name.hasPrefix("audit-") && !Self.silent.contains(name)
        && !described.contains { $0.name == name && $0.allowed == allowed }
    }.map { name, allowed in
      Violation(rule: "undescribed limit: \(call.route)", detail: "\(name), \(allowed)")
    }
  }

  /// Limits over which a code may be tried once, or a mail is not sent. They refuse no request.
  private static let silent: Set<String> = [
    "code-wrong-email", "code-wrong-known-device", "code-wrong-network", "code-wrong-other",
    "known-browser", "mail-unproven", "mail-unproven-network",
  ]

  /// Changes of the registration that waits for its phone, and uses of its push token.
  private func takenFromWaiting(_ call: WalkCall, _ changes: [RowChange]) -> [Violation] {
    let waiting = site.world.waiting
    let hash = hexEncoded(sha256(waiting.credential)).uppercased()
    return changes.filter { change in
      change.table == "device_registrations" && change.old?["credential_hash"] == hash
        || change.table == "push_tokens" && change.new?["token"] == pushTokenText("d")
        || change.table == "devices" && change.new?["credential_hash"] == hash
    }.map {
      Violation(rule: "taken from a phone that waits: \($0.summary)", detail: "by \(call.route)")
    }
  }

  private func serverError(_ call: WalkCall, _ response: Response) -> Violation? {
    guard response.status >= 500, Self.declared[call.route]?.contains(response.status) != true
    else { return nil }
    return Violation(
      rule: "server error: \(call.route)",
      detail: "\(response.status) \(String(decoding: response.body, as: UTF8.self))")
  }

  /// Expected server errors: no companion runs during walks, and Android apps and test pushes are
  /// not set up.
  private static let declared: [String: Set<Int>] = [
    "POST /api/push/test": [500, 503], "GET /check/:user_id": [503],
    "GET /api/enrollment/callback/:bsimId": [503], "POST /api/enrollment/callback/:bsimId": [503],
  ]

  /// Changes of other people's rows, and changes of the owner's rows that ``Authority`` forbids.
  private func foreignChanges(
    _ call: WalkCall, _ changes: [RowChange], hasEnded: Bool
  ) -> [Violation] {
    let authority = Authority(actor: actor)
    return changes.compactMap { change in
      switch change.owner {
      case .account(let id) where ownAccounts.contains(id): return nil
      case .account(site.target.accountID):
        if authority.allows(change, at: site.now, hasEnded: hasEnded),
          !isForeignKeyGone(change, changes)
        {
          return nil
        }
        return Violation(rule: "authority: \(change.summary)", detail: "by \(call.route)")
      case .account(_) where Authority.told.contains(change.table): return nil
      case .player(let id) where id == "\(WalkWorld.thiefPlayer)": return nil
      case .pairing(let id) where id == ownPairing: return nil
      case nil where !Self.unchanging.contains(change.table) && !change.isOfOtherMerchant:
        return nil
      default:
        return Violation(
          rule: "namespace: \(change.summary)", detail: "of another, by \(call.route)")
      }
    }
  }

  /// Tables without an owner that no actor may change.
  private static let unchanging: Set<String> = ["merchants", "banks", "models", "pairing_server"]

  /// Whether a live device other than the bearer's own has lost its key.
  private func isForeignKeyGone(_ change: RowChange, _ changes: [RowChange]) -> Bool {
    guard change.table == "biometric_keys", change.new == nil, !actor.hasProof,
      let device = site.watch.rows["devices"]?[change.old?["device_id"] ?? ""]
    else { return false }
    return device["client_device_id"] != site.target.phone && device["revoked_at"] == nil
  }

  /// The changes that a refused request left behind.
  private func leftovers(_ call: WalkCall, _ changes: [RowChange]) -> [Violation] {
    let allowed = Leftovers.of(call.route)
    return changes.filter { !allowed.contain($0) }.map {
      Violation(rule: "left behind: \($0.summary)", detail: "by \(call.route)")
    }
  }

  /// Texts of people whose data the actor may not read.
  private func foreignData(
    _ call: WalkCall, _ request: Request, _ response: Response, _ known: KnownValues, hasEnded: Bool
  ) -> [Violation] {
    let mayRead = actor.isBearer && !hasEnded
    let marks = site.people.filter { !mayRead || $0.accountID != site.target.accountID }
      .flatMap(\.marks)
    let answer =
      Data(response.body) + Data(response.fields.map(\.value).joined(separator: " ").utf8)
    let sent = Data(request.body) + Data("\(request.path) \(request.query)".utf8)
    for mark in marks where contains(answer, mark) && !contains(sent, mark) && !known.has(mark) {
      return [Violation(rule: "data of another: \(call.route)", detail: mark)]
    }
    return []
  }

  /// Accepted tokens in a place for another kind.
  private func misplaced(_ call: WalkCall) -> [Violation] {
    call.misplaced.filter { name, _ in
      name == "Authorization"
        ? guarded.contains(call.route) : call.route != "POST /api/auth/revoke"
    }.map { name, kind in
      Violation(rule: "kind of token: \(call.route) \(name)", detail: "took a value of \(kind)")
    }
  }

  private mutating func secondTimes(_ call: WalkCall, _ known: KnownValues) -> [Violation] {
    let names = Set((call.members + call.fields).map(\.name))
    return (call.members + call.query).compactMap { item in
      guard Self.once[call.route]?.contains(item.name) == true,
        let text = known.value(challenge(of: item.value))?.text,
        // With a passkey in the request, the route ignores the code.
        item.name != "code" || !names.contains("credential"),
        // With a token in the header fields, the route ignores a token in the URL. Tokens of phones
        // may be used often.
        call.route != "GET /_auth" || !names.contains("Authorization") && !text.hasPrefix("cdev_"),
        // The link in a mail about a browser also ends the browsers that have signed in since.
        call.route != "POST /account/end" || isForSession(link: text),
        !spent.insert("\(call.route) \(item.name) \(text)").inserted
      else { return nil }
      return Violation(rule: "second time: \(call.route) \(item.name)", detail: text)
    }
  }

  private func isForSession(link: String) -> Bool {
    LinkToken.parts(of: link, for: .ending, signedWith: WalkWorld.settings.hmacKeys) != nil
  }

  private func challenge(of source: ValueSource) -> ValueSource {
    switch source {
    case .asserted(let challenge), .newlyAsserted(let challenge), .created(let challenge),
      .signature(let challenge):
      challenge
    default: source
    }
  }

  /// Values that a route accepts only once.
  private static let once: [String: Set<String>] = [
    "POST /api/mobile/auth/login/verify": ["code", "credential"],
    "POST /api/mobile/auth/login/password": ["password"],
    "POST /api/mobile/auth/biometric/verify": ["challenge"],
    "POST /api/mobile/auth/passkey/register/verify": ["credential"],
    "POST /api/auth/exchange": ["pairing_token"],
    "POST /account/address": ["token"], "POST /account/end": ["token"],
    "POST /account/sign-in": ["code"], "POST /account/passkey/sign-in": ["credential"],
    "POST /api/merchant/payment/confirm": ["paymentId"],
    "GET /_auth": ["token"],
  ]

  /// Accepted paths that name a deleted row.
  private func uses(ofGone call: WalkCall, _ known: KnownValues) -> [Violation] {
    guard call.path.hasSuffix("/:id") || call.path.contains("/:id/"),
      let item = call.pathItem.flatMap({ known.value($0)?.text }), gone.contains(item)
    else { return [] }
    return [Violation(rule: "use after end: \(call.route)", detail: item)]
  }

  /// Accepted tokens of an ended session.
  private func deadBearer(
    _ call: WalkCall, _ response: Response, _ changes: [RowChange], _ known: KnownValues
  ) -> [Violation] {
    guard let source = call.fields.first(where: { $0.name == "Authorization" })?.value,
      let token = known.value(source)?.text, let session = tokenClaims(token)["sid"] as? String,
      let account = account(ofEnded: session, changes)
    else { return [] }
    let isUsed =
      changes.contains { $0.owner == .account(account) && !Authority.told.contains($0.table) }
      || site.marks(of: account).contains {
        contains(Data(response.body), $0) && !known.has($0)
      }
    return isUsed ? [Violation(rule: "use after end: \(call.route)", detail: "ended session")] : []
  }

  /// The account of a session that had ended before the call.
  private func account(ofEnded id: String, _ changes: [RowChange]) -> String? {
    guard let row = site.watch.rows["sessions"]?[id],
      !changes.contains(where: { $0.table == "sessions" && $0.key == id }),
      row["ended_at"] != nil || isOver(row["expires_at"], at: site.now),
      case .account(let account) = site.watch.owner(of: row, in: "sessions")
    else { return nil }
    return account
  }
}

extension WalkCall {
  /// Whether the request has no proof of identity except an access token.
  fileprivate var isBearerAlone: Bool {
    fields.allSatisfy { ["Authorization", "Origin", "X-Username"].contains($0.name) }
      && !(members + query).contains {
        [
          "code", "credential", "signature", "refreshToken", "password", "token", "state", "email",
        ].contains($0.name)
      }
  }
}

private func contains(_ bytes: Data, _ text: String) -> Bool {
  bytes.range(of: Data(text.utf8)) != nil
}

extension RowChange {
  /// No actor has the key of this merchant, or knows its payments.
  fileprivate var isOfOtherMerchant: Bool {
    table == "payments" && new?["merchant_id"] == WalkWorld.otherMerchant
  }
}
