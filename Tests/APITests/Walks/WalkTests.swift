import Foundation
import Support
import Synchronization
import Testing

@testable import API

/// Random sequences of requests over every route, by actors with given possessions. No actor may
/// reach more than it is allowed to.
///
/// `SWITCHBOARD_WALKS` sets the number of walks per actor, with a random seed; `SWITCHBOARD_SEED`
/// repeats a run, and `SWITCHBOARD_ACTORS` selects actors. Without these variables the walks are
/// the same in each run. `Tests/run --all` takes more of them.
@Suite struct WalkTests {
  private static func setting(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  private static let chosen = setting("SWITCHBOARD_WALKS")
  static let walks = Int(chosen ?? 12)
  static let seed =
    setting("SWITCHBOARD_SEED") ?? (chosen == nil ? 1 : UInt64.random(in: 1...999_999))
  static let actors: [Actor] =
    ProcessInfo.processInfo.environment["SWITCHBOARD_ACTORS"].map { names in
      names.split(separator: ",").compactMap { Actor(rawValue: String($0)) }
    } ?? Actor.allCases

  @Test func noActorReachesWhatTheyMayNot() throws {
    let accepted = Mutex<Set<String>>([])
    let reports = try inParallel(Self.actors.count) { number in
      try Self.report(of: Self.actors[number]) { routes in
        accepted.withLock { $0.formUnion(routes) }
      }
    }
    for report in reports {
      print(report.text)
      if report.isViolation { Issue.record("\(report.text)") }
    }
    // A run with fewer walks may miss a route by chance.
    if Self.actors == Actor.allCases, Self.walks >= 500 {
      let routes = Set(Family.all.flatMap(\.routes).map { "\($0.method) \($0.path)" })
      let never = routes.subtracting(accepted.withLock { $0 })
      #expect(
        never == Set(Self.unreachable.keys), "a walk says nothing of a route that refuses all")
    }
  }

  /// Routes that accept no actor, with the reason.
  private static let unreachable = [
    "GET /.well-known/apple-app-site-association": "no app is set up",
    "GET /.well-known/assetlinks.json": "no app is set up",
    "GET /api/pair/info": "for the administrator's network",
    "GET /api/pair/qr": "for the administrator's network",
    "POST /api/pair/refresh": "for the administrator's network",
    "POST /api/pair/code": "for the administrator's network",
    "GET /pair": "for the administrator's network",
    "POST /pair": "for the administrator's network",
    "GET /pair/phones": "for the administrator's network",
    "POST /pair/phones": "for the administrator's network",
    "POST /pair/phones/name": "for the administrator's network",
    "POST /api/auth/exchange": "its token is shown to the administrator",
    "POST /generate-api-key": "nobody has the master key",
    "POST /api/app-attestation/verify": "nobody has a key that Apple vouches for",
    "GET /check/:user_id": "the companion answers it",
    "POST /api/push/test": "the companion answers it",
  ]

  static func report(
    of actor: Actor, _ keep: ([String]) -> Void
  ) throws -> (isViolation: Bool, text: String) {
    try withDatabase { root in
      let walks = try WalkSite(TestApplication(root, settings: WalkWorld.settings))
      defer { walks.watch.end() }
      let begun = ContinuousClock.now
      var campaign = try Campaign(actor, at: walks, seed: seed)
      let found = try campaign.search(walks: Self.walks)
      keep(Array(campaign.accepted))
      let sum =
        "\(actor): \(campaign.walks) walks, \(walks.calls) calls, seed \(seed), \(ContinuousClock.now - begun)"
      guard let found else { return (false, sum) }
      let steps = found.steps.map { "\($0)" }.joined(separator: "\n  ")
      return (true, "\(sum)\n\(found.violation.rule): \(found.violation.detail)\n  \(steps)")
    }
  }
}
