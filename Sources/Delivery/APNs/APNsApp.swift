import Base
import Store

/// One app of the site, with its clients for Apple's two hosts.
struct APNsApp: Sendable {
  let settings: APNsSettings
  let first: APNsClient
  /// nil if there is only one host.
  let other: APNsClient?
  private let database: Database

  init(
    _ settings: APNsSettings, _ database: Database, sealingKeys: CompanionKeys,
    limits: APNsClient.Limits, clock: LimitClock
  ) {
    self.settings = settings
    self.database = database
    first = settings.client(database, sealingKeys: sealingKeys, limits: limits, clock: clock)
    other = settings.otherEndpoint.map {
      settings.client(
        database, sealingKeys: sealingKeys, limits: limits, clock: clock, at: $0)
    }
  }

  /// - Parameter handOver: see ``APNsChannelRun``.
  func channelRun(
    until deadline: ContinuousClock.Instant,
    handOver: @escaping (OutgoingDelivery) -> Bool = { _ in false }
  ) -> APNsChannelRun {
    APNsChannelRun(
      settings, .init(first: first, other: other), until: deadline,
      refusedTokens: RefusedTokens(database), handOver: handOver
    ) { token in
      try learn(settings.environment.other, of: token)
    }
  }

  /// The environments known for `tokens`.
  func environments(of tokens: [String]) throws -> [String: APNsEnvironment] {
    try hosts.environments(of: tokens, topic: settings.topic)
  }

  /// Remembers which host accepts notifications to `token`.
  func learn(_ environment: APNsEnvironment, of token: String) throws {
    try hosts.learn(environment, topic: settings.topic, ofToken: token)
  }

  private var hosts: APNsHosts { database.records(at: .now(), from: .companion).apnsHosts }

  /// The host and the topic, for administrators.
  func describe(_ environment: APNsEnvironment?) -> String {
    let endpoint = environment == settings.environment.other ? settings.otherEndpoint : nil
    return "\(endpoint ?? settings.endpoint)  \(settings.topic)"
  }

  func close() {
    first.close()
    other?.close()
  }
}

/// The apps of one site. A token without a bundle id goes to the app for which Apple accepted it
/// before, or else to the first app.
struct APNsApps: Sendable {
  let all: [APNsApp]
  let clock: LimitClock

  /// The app of a delivery, and Apple's host if it is known.
  struct Route: Equatable {
    let topic: String
    let environment: APNsEnvironment?
  }

  /// The position of the app with this bundle id; nil if no app of the site has it.
  func position(of bundleID: String?) -> Int? {
    all.firstIndex { $0.settings.topic == bundleID }
  }

  /// The position of the app that a route names.
  func position(onRoute text: String?) -> Int { position(of: Route(text).topic) ?? 0 }

  /// The route to each address as text, by token.
  func findRoutes(to addresses: [PushAddress]) throws -> [String: String] {
    let named = Dictionary(grouping: addresses) { position(of: $0.bundleID) }
    var routes: [String: String] = [:]
    for (position, app) in all.enumerated() {
      let (ours, unclaimed) = (named[position] ?? [], (named[nil] ?? []).map(\.token))
      let learned = try app.environments(of: ours.map(\.token) + unclaimed)
      let homeless = unclaimed.filter { token in
        routes[token] == nil && learned[token] != nil
      }
      for token in ours.map(\.token) + homeless {
        routes[token] = Route(topic: app.settings.topic, environment: learned[token]).text
      }
    }
    let first = Route(topic: all[0].settings.topic, environment: nil).text
    return routes.merging((named[nil] ?? []).map { ($0.token, first) }) { known, _ in known }
  }

  func describe(_ text: String?) -> String {
    all[position(onRoute: text)].describe(Route(text).environment)
  }
}

extension APNsApps.Route {
  /// Parses ``text``.
  init(_ text: String?) {
    let words = (text ?? "").split(separator: " ")
    topic = words.first.map(String.init) ?? ""
    environment = words.dropFirst().first.flatMap { APNsEnvironment(rawValue: String($0)) }
  }

  var text: String { environment.map { "\(topic) \($0.rawValue)" } ?? topic }
}
