import Support

@testable import API

/// Makes random requests from the values that an actor knows.
struct Chooser {
  var chance: SeededGenerator

  mutating func isLucky(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &chance) < percent
  }

  /// A request to `route`; nil if the actor knows no value for the path.
  mutating func call(_ route: Route, knowing known: KnownValues) -> WalkCall? {
    var call = WalkCall(method: route.method, path: route.path)
    if let name = route.path.split(separator: "/").first(where: { $0.hasPrefix(":") })?.dropFirst()
    {
      guard let item = value(of: String(name), known) else { return nil }
      call.pathItem = item
    }
    let challenge = value(of: "challenge", known)
    let density = isLucky(60) ? 95 : 55
    for name in RouteNames.names(of: route) where isLucky(density) {
      let isQuery = name.hasPrefix("?")
      let plain = isQuery ? String(name.dropFirst()) : name
      let chosen: ValueSource?
      switch plain {
      case "challenge": chosen = challenge
      case "signature": chosen = challenge.map { .signature($0) }
      case "credential": chosen = credential(for: route, challenge)
      case "refreshToken", "refresh_token", "pairing_token":
        chosen = token(plain, named: plain, in: &call, known)
      default: chosen = value(of: plain, known, elsewhere: ValueNames.constants[name])
      }
      guard let chosen else { continue }
      let item = WalkCall.Item(name: plain, value: chosen)
      if isQuery { call.query.append(item) } else { call.members.append(item) }
    }
    addFields(to: &call, known)
    return call
  }

  private mutating func credential(for route: Route, _ challenge: ValueSource?) -> ValueSource? {
    guard let challenge else { return nil }
    let makes = route.path.contains("register") ? 85 : 15
    if isLucky(makes) { return .created(challenge) }
    return isLucky(70) ? .asserted(challenge) : .newlyAsserted(challenge)
  }

  /// A token of a kind, or sometimes of another kind.
  mutating func token(
    _ kind: String, named name: String, in call: inout WalkCall, _ known: KnownValues
  ) -> ValueSource? {
    guard isLucky(6) else { return value(of: kind, known) }
    let others = ValueNames.secrets.subtracting(ValueNames.kinds(of: kind)).subtracting([
      "pairing_token"
    ]).filter { known.sources[$0] != nil }
    guard let other = others.sorted().randomElement(using: &chance) else { return nil }
    call.misplaced[name] = other
    return pick(other, known)
  }

  private mutating func addFields(to call: inout WalkCall, _ known: KnownValues) {
    let isOfPairing = ["/api/auth/", "/api/status", "/_auth"].contains { call.path.hasPrefix($0) }
    if isLucky(85) {
      let kind = isOfPairing ? "access_token" : "accessToken"
      if let token = token(kind, named: "Authorization", in: &call, known) {
        call.fields.append(.init(name: "Authorization", value: token))
      }
    }
    if isLucky(25), let credential = pick("deviceCredential", known) {
      call.fields.append(.init(name: "X-Device-Credential", value: credential))
    }
    if call.path.hasPrefix("/api/push/") {
      call.fields.append(.init(name: "Origin", value: .text(pushOrigin.value)))
      if let name = pick("email", known) {
        call.fields.append(.init(name: "X-Username", value: name))
      }
    }
    if call.path.hasPrefix("/api/merchant/"), isLucky(80), let key = pick("merchant key", known) {
      call.fields.append(.init(name: "x-api-key", value: key))
    } else if isLucky(call.path.hasPrefix("/api/") || call.path.hasPrefix("/account") ? 3 : 90),
      let key = pick("api_key", known)
    {
      call.fields.append(.init(name: "X-API-Key", value: key))
    }
    if call.path.hasPrefix("/account") || call.path.hasPrefix("/api/enrollment"),
      let cookie = pick("Cookie", known)
    {
      call.fields.append(.init(name: "Cookie", value: cookie))
    }
  }

  /// A value for a name: mostly a known value, and most often the newest.
  mutating func value(
    of name: String, _ known: KnownValues, elsewhere constants: [ValueSource]? = nil
  ) -> ValueSource? {
    let kinds = ValueNames.kinds(of: name).shuffled(using: &chance)
    if isLucky(80), let found = kinds.lazy.compactMap({ known.sources[$0] }).first {
      return choose(found)
    }
    return (constants ?? ValueNames.madeUp(name)).randomElement(using: &chance)
      ?? kinds.lazy.compactMap { known.sources[$0] }.first.map { choose($0) }
  }

  mutating func pick(_ kind: String, _ known: KnownValues) -> ValueSource? {
    known.sources[kind].map { choose($0) }
  }

  private mutating func choose(_ sources: [ValueSource]) -> ValueSource {
    switch Int.random(in: 0..<3, using: &chance) {
    case 0: sources.last!
    case 1: sources.randomElement(using: &chance)!
    // Without this the actor's own values would be rare among the many learned values.
    default: (sources.filter(\.isHeld).randomElement(using: &chance) ?? sources.last)!
    }
  }
}
