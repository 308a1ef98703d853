import Base
import Support

@testable import API

/// The walks of one actor, and their beginnings that later walks continue.
struct Campaign {
  let actor: Actor
  let site: WalkSite
  private let guarded: Set<String>
  private var chooser: Chooser
  private var places: Set<[String]> = [[]]
  /// The kinds of values that the walks have known.
  private var kinds: Set<String>
  private var beginnings: [[WalkStep]] = []
  /// Routes that have accepted a request; the walks prefer these.
  private var acceptedRoutes: Set<String> = []
  private(set) var walks = 0

  var accepted: Set<String> { acceptedRoutes }

  init(_ actor: Actor, at site: WalkSite, seed: UInt64) throws {
    self.actor = actor
    self.site = site
    kinds = Set(actor.values(in: site.world).map(\.kind))
    guarded = Self.guardedRoutes(of: site)
    let number = UInt64(Actor.allCases.firstIndex(of: actor)!)
    chooser = Chooser(chance: SeededGenerator(state: seed &* 0x9E37_79B9 &+ number))
  }

  /// Routes that answer 401 without an access token, whichever key the request has.
  private static func guardedRoutes(of site: WalkSite) -> Set<String> {
    let known = KnownValues([], passkeys: site.world.thiefPasskeys)
    return Set(
      site.routes.filter { route in
        [site.world.thiefAPIKey, site.world.merchantKey].allSatisfy { key in
          var call = WalkCall(method: route.method, path: route.path, pathItem: .text("x"))
          call.fields = [.init(name: "X-API-Key", value: .text(key))]
          return call.request(knowing: known, from: WalkWorld.thiefAddress)
            .map { site.respond(to: $0).status == 401 } ?? false
        }
      }.map { "\($0.method) \($0.path)" })
  }

  /// Walks until a rule is broken.
  ///
  /// - Returns: the shortest walk that breaks the rule, with the problem; nil if no walk breaks a
  ///   rule.
  mutating func search(walks count: Int) throws -> (steps: [WalkStep], violation: Violation)? {
    for _ in 0..<count {
      walks += 1
      if let walk = try self.walk() {
        return try Shrinking(actor: actor, site: site, guarded: guarded)
          .shortest(walk.steps, breaking: walk.violations[0])
      }
    }
    return nil
  }

  /// - Returns: the walk if it has broken a rule.
  private mutating func walk() throws -> Walk? {
    var walk = try Walk(actor, at: site, guarded: guarded)
    if !beginnings.isEmpty, chooser.isLucky(70) {
      let newest = chooser.isLucky(50) ? 10 : beginnings.count
      let beginning = beginnings.suffix(newest).randomElement(using: &chooser.chance)!
      for step in beginning {
        try walk.take(step)
        if !walk.violations.isEmpty { return walk }
      }
    }
    for _ in 0..<Int.random(in: 4...10, using: &chooser.chance) {
      for act in nextActs(of: walk) {
        try walk.take(WalkStep(id: walk.steps.count + 1, act: act))
        acceptedRoutes.formUnion(walk.accepted)
        if !walk.violations.isEmpty { return walk }
      }
      keep(walk)
    }
    if actor.knowsWaiting {
      try walk.take(WalkStep(id: walk.steps.count + 1, act: .waitingPhone))
      return walk.violations.isEmpty ? nil : walk
    }
    // If the account is unchanged, the last attempts equal those of the first walk.
    guard walks == 1 || !walk.place.isEmpty else { return nil }
    for act in Self.lastActs(of: actor) {
      try walk.take(WalkStep(id: walk.steps.count + 1, act: act))
      if !walk.violations.isEmpty { return walk }
    }
    return nil
  }

  private mutating func keep(_ walk: Walk) {
    guard walk.steps.count <= 20 else { return }
    let hasNewKind = !kinds.isSuperset(of: walk.known.sources.keys)
    kinds.formUnion(walk.known.sources.keys)
    if places.insert(walk.place).inserted || hasNewKind { beginnings.append(walk.steps) }
  }

  /// The next actions: mostly a single one, sometimes a flow.
  private mutating func nextActs(of walk: Walk) -> [WalkStep.Act] {
    guard chooser.isLucky(25) else { return nextAct(of: walk).map { [$0] } ?? [] }
    let flow = Flow.allCases.randomElement(using: &chooser.chance)!
    return chooser.calls(of: flow, knowing: walk.known, from: walk.steps.count + 1).map {
      .call($0)
    }
  }

  private mutating func nextAct(of walk: Walk) -> WalkStep.Act? {
    switch Int.random(in: 0..<100, using: &chooser.chance) {
    case ..<4:
      return .wait(
        [.seconds(60), .seconds(660), .seconds(3600)].randomElement(using: &chooser.chance)!)
    case 4: return .wait(.seconds(86_400))
    case ..<9: return .owner(OwnerAct.allCases.randomElement(using: &chooser.chance)!)
    case ..<11:
      let routes = site.routes.filter { Walk.guesses["\($0.method) \($0.path)"] != nil }
      return chooser.call(routes.randomElement(using: &chooser.chance)!, knowing: walk.known)
        .map { .persist($0) }
    case ..<19:
      // Repeats an accepted request, because it may be valid only once.
      return walk.acceptedCalls.randomElement(using: &chooser.chance).map { .call($0) }
    default: return call(of: walk).map { .call($0) }
    }
  }

  private mutating func call(of walk: Walk) -> WalkCall? {
    let fleeting = walk.known.newest.intersection(ValueNames.fleeting)
    if !fleeting.isEmpty, chooser.isLucky(35) {
      let takers = site.routes.filter { route in
        RouteNames.names(of: route).contains {
          !fleeting.isDisjoint(with: ValueNames.kinds(of: $0))
        }
      }
      if let route = takers.randomElement(using: &chooser.chance) {
        return chooser.call(route, knowing: walk.known)
      }
    }
    // Prefers the routes of the account, and routes that have accepted the actor.
    var routes = site.routes
    if chooser.isLucky(40) { routes = routes.filter { $0.path.hasPrefix("/api/mobile/") } }
    if chooser.isLucky(40) {
      let open = routes.filter { acceptedRoutes.contains("\($0.method) \($0.path)") }
      if !open.isEmpty { routes = open }
    }
    return routes.randomElement(using: &chooser.chance).flatMap {
      chooser.call($0, knowing: walk.known)
    }
  }

  /// The owner signs out everywhere; the actor then repeats everything, and again a day later.
  static func lastActs(of actor: Actor) -> [WalkStep.Act] {
    let end: OwnerAct = actor.hasProof ? .removesAuthenticators : .signsOutEverywhere
    return [.owner(end), .lastTries, .wait(.seconds(90_000)), .lastTries]
  }
}
