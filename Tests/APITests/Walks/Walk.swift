import Base
import Foundation
import HTTP
import Support

@testable import API

/// One walk of an actor from the first state: its steps, the learned values, and the problems.
struct Walk {
  let actor: Actor
  let site: WalkSite
  private(set) var steps: [WalkStep] = []
  private(set) var known: KnownValues
  private(set) var violations: [Violation] = []
  /// The routes that accepted a request.
  private(set) var accepted: Set<String> = []
  private(set) var acceptedCalls: [WalkCall] = []
  /// Whether the owner has signed out everywhere, and has done nothing since.
  private(set) var hasEnded = false
  private var rules: WalkRules

  /// Restores all rows before the walk begins.
  init(_ actor: Actor, at site: WalkSite, guarded: Set<String>) throws {
    self.actor = actor
    self.site = site
    try site.restore(for: actor)
    known = KnownValues(actor.values(in: site.world), passkeys: site.world.thiefPasskeys)
    rules = try WalkRules(actor, at: site, guarded: guarded)
  }

  /// Takes a step and checks the rules.
  mutating func take(_ step: WalkStep) throws {
    steps.append(step)
    site.site.advance(by: .seconds(1))
    switch step.act {
    case .call(let call):
      if let response = try send(call, in: step.id), response.status < 400 {
        acceptedCalls.append(call)
      }
    case .persist(let call): try persist(with: call, in: step.id)
    case .wait(let span): site.site.advance(by: span)
    case .owner(let act):
      let isDone = site.perform(act)
      _ = try site.watch.takeChanges()
      _ = try site.watch.takeCounted()
      hasEnded = isDone && ends(act)
    case .waitingPhone:
      if let problem = try site.signUpWaitingPhone() {
        violations.append(Violation(rule: "a phone that waits is refused", detail: problem))
      }
      _ = try site.watch.takeCounted()
    case .lastTries: try tryAll(in: step.id)
    }
    let possessions = Possessions(actor: actor, site: site, known: known)
    violations += possessions.violations(hasEnded: hasEnded)
  }

  /// An actor with a proof may have set up a trusted key, which only the removal of authenticators
  /// ends.
  private func ends(_ act: OwnerAct) -> Bool {
    act == .removesAuthenticators || act == .signsOutEverywhere && !actor.hasProof
  }

  @discardableResult
  private mutating func send(_ call: WalkCall, in step: Int) throws -> Response? {
    guard let request = call.request(knowing: known, from: actor.address) else { return nil }
    let response = site.respond(to: request)
    let changes = try site.watch.takeChanges()
    violations += rules.violations(
      call, request, response, changes, knowing: known, hasEnded: hasEnded)
    violations += rules.undescribed(try site.watch.takeCounted(), by: call)
    if response.status < 400 { accepted.insert(call.route) }
    var learned = harvest(response)
    for change in changes where change.table == "outbox" && change.old == nil {
      learned += mail(change.new ?? [:])
    }
    known.learn(learned, from: step)
    return response
  }

  /// The values in a mail to the actor.
  private func mail(_ row: WatchedRow) -> [(kind: String, text: String)] {
    guard row["state"] == "open", row["recipient"]?.hasPrefix("eve") == true,
      let secret = site.secret(of: row), !secret.isEmpty
    else { return [] }
    return [(row["kind"] == "login_code" ? "code" : "token", secret)]
  }

  /// Checks that guesses are limited: the 130th guess at one time must be refused by a limit.
  private mutating func persist(with call: WalkCall, in step: Int) throws {
    // A wrong device credential is refused before any guess is compared.
    guard !call.fields.contains(where: { $0.name == "X-Device-Credential" }),
      let first = try send(call, in: step),
      Self.guesses[call.route]?.contains(first.status) == true
    else { return }
    for _ in 1...130 {
      guard violations.isEmpty, isCodeAlive(for: call), let next = try send(call, in: step) else {
        return
      }
      if next.status == 429 || next.status != first.status { return }
    }
    violations.append(
      Violation(rule: "no limit: \(call.route)", detail: "131 times \(first.status)"))
  }

  /// Whether a code exists that can be guessed; true for routes without a code.
  private func isCodeAlive(for call: WalkCall) -> Bool {
    guard call.path.hasPrefix(AccountPath.login) else { return true }
    func text(_ name: String) -> String? {
      call.members.first { $0.name == name }.flatMap { known.value($0.value)?.text }
    }
    guard text("challenge") == nil, text("credential") == nil else { return false }
    return site.watch.rows(of: "login_codes").contains {
      $0["client_device_id"] == text("deviceId") && $0["email"] == text("email")
        && $0["spent_at"] == nil && Int($0["attempts"]!)! < 5
        && !isOver($0["expires_at"], at: site.now)
    }
  }

  /// Routes that compare a guess or send something, with the statuses of attempts that count.
  static let guesses: [String: Set<Int>] = [
    "POST /api/mobile/auth/login/verify": [401], "POST /api/mobile/auth/login/password": [401],
    "POST /api/mobile/auth/biometric/challenge": [200],
    "POST /api/mobile/auth/token/refresh": [401], "POST /api/mobile/device/register": [200],
    "POST /api/auth/exchange": [401], "POST /api/auth/refresh": [401],
    "POST /generate-api-key": [401],
  ]

  /// Repeats, with all known values, every request that may still open the account.
  private mutating func tryAll(in step: Int) throws {
    for call in LastTries.calls(of: known, at: site) {
      try send(call, in: step)
      if !violations.isEmpty { return }
    }
    for call in LastTries.answers(to: known, at: site) {
      try send(call, in: step)
      if !violations.isEmpty { return }
    }
  }

  /// The state of the account, in words that are equal in every walk to the same state.
  var place: [String] {
    site.watch.state(
      of: .account(site.target.accountID),
      without: [
        "name", "platform", "language", "cards_version", "last_used_at", "confirmed", "generation",
        "rotated_at", "expires_at", "form_hash",
        "challenge_hash", "version", "last_updated_at", "last_write_digest", "last_write_base",
      ])
  }
}
