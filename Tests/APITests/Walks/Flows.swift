/// Sequences of requests: a request sends back values of an earlier answer, for the same device and
/// with the same credentials. Random requests hardly ever complete such a sequence.
enum Flow: CaseIterable, Sendable {
  case codeSignIn
  case passwordSignIn
  case passkeySignIn
  case biometricSignIn
  /// Sets up a biometric key, signs in with it, and may remove it again.
  case newBiometricKey
  case newPasskey
  /// Types a code on the page at `/account`.
  case pageCode
  case pagePasskey
  /// Opens that page and sends a form.
  case pageForm
  /// Changes the address in the profile and uses the mailed link.
  case newAddress
  /// Confirms a new account, or does not, or gives up its address.
  case signUp
  case payment
  /// Uses an item that a list shows.
  case listed
  /// Gets a ticket for the agent, or new tokens, as a paired phone.
  case pairing
}

extension Chooser {
  /// The requests of a flow whose first step has the id `first`. Skips a request if an earlier
  /// answer lacks its value. Each request has the header fields that its kind takes from the
  /// actor's own values.
  mutating func calls(of flow: Flow, knowing known: KnownValues, from first: Int) -> [WalkCall] {
    switch flow {
    case .codeSignIn: codeSignIn(known, first)
    case .passwordSignIn: passwordSignIn(known, first)
    case .passkeySignIn: passkeySignIn(known, first)
    case .biometricSignIn: biometricSignIn(on: device(known), known, first)
    case .newBiometricKey: newBiometricKey(known, first)
    case .newPasskey: newPasskey(known, first)
    case .pageCode: pageCode(known, first)
    case .pagePasskey: pagePasskey(known, first)
    case .pageForm: pageForm(known, first)
    case .newAddress: newAddress(known, first)
    case .signUp: signUp(known, first)
    case .payment: payment(known, first)
    case .listed: listed(known, first)
    case .pairing: pairing(known, first)
    }
  }

  func answer(_ step: Int, _ kind: String) -> ValueSource {
    .answered(step: step, kind: kind, 0)
  }

  mutating func asserted(_ challenge: ValueSource) -> ValueSource {
    isLucky(60) ? .asserted(challenge) : .newlyAsserted(challenge)
  }

  mutating func device(_ known: KnownValues) -> ValueSource {
    value(of: "deviceId", known) ?? .text("phone of eve")
  }

  mutating func bearer(_ known: KnownValues) -> WalkCall.Item? {
    pick("accessToken", known).map { .init(name: "Authorization", value: $0) }
  }

  /// Adds the app's description of its device, and sometimes the device credential.
  private mutating func signIn(
    _ path: String, on device: ValueSource, _ known: KnownValues, email: ValueSource?
  ) -> WalkCall {
    var call = WalkCall(method: "POST", path: path)
    call.members = [
      .init(name: "deviceId", value: device),
      .init(name: "deviceName", value: .text(ValueNames.thiefName)),
      .init(name: "platform", value: .text("ios")),
    ]
    if let email { call.members.append(.init(name: "email", value: email)) }
    if isLucky(25), let credential = pick("deviceCredential", known) {
      call.fields.append(.init(name: "X-Device-Credential", value: credential))
    }
    return call
  }

  private mutating func codeSignIn(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    let (device, email) = (device(known), value(of: "email", known))
    var ask = signIn("/api/mobile/auth/login", on: device, known, email: email)
    ask.members.append(.init(name: "method", value: .text("email")))
    var verify = signIn("/api/mobile/auth/login/verify", on: device, known, email: email)
    verify.members.append(.init(name: "code", value: answer(first, "code")))
    verify.fields = ask.fields
    return [ask, verify]
  }

  private mutating func passwordSignIn(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    var ask = signIn(
      "/api/mobile/auth/login/password", on: device(known), known, email: value(of: "email", known))
    var verify = ask
    ask.members.append(.init(name: "password", value: .text("secret")))
    verify.members.append(.init(name: "password", value: answer(first, "code")))
    return [ask, verify]
  }

  private mutating func passkeySignIn(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    let device = device(known)
    let email = isLucky(50) ? value(of: "email", known) : nil
    let ask = signIn("/api/mobile/auth/login", on: device, known, email: email)
    var verify = signIn("/api/mobile/auth/login/verify", on: device, known, email: nil)
    verify.members.append(.init(name: "credential", value: asserted(answer(first, "challenge"))))
    return [ask, verify]
  }

  private func biometricSignIn(
    on device: ValueSource, _ known: KnownValues, _ first: Int
  ) -> [WalkCall] {
    var ask = WalkCall(method: "POST", path: "/api/mobile/auth/biometric/challenge")
    ask.members = [.init(name: "deviceId", value: device)]
    var verify = WalkCall(method: "POST", path: "/api/mobile/auth/biometric/verify")
    let challenge = answer(first, "challenge")
    verify.members =
      ask.members + [
        .init(name: "challenge", value: challenge),
        .init(name: "signature", value: .signature(challenge)),
      ]
    return [ask, verify]
  }

  private mutating func newBiometricKey(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    let device = device(known)
    var setup = WalkCall(method: "POST", path: "/api/mobile/auth/biometric/setup")
    setup.fields = bearer(known).map { [$0] } ?? []
    setup.members = [
      .init(name: "deviceId", value: device),
      .init(name: "publicKey", value: ValueNames.madeUp("publicKey")[0]),
      .init(name: "biometricType", value: .text("face")),
    ]
    var remove = WalkCall(method: "DELETE", path: "/api/mobile/auth/biometric")
    remove.fields = [.init(name: "Authorization", value: answer(first + 2, "accessToken"))]
    remove.members = [.init(name: "deviceId", value: device)]
    return [setup] + biometricSignIn(on: device, known, first + 1) + (isLucky(50) ? [remove] : [])
  }

  private mutating func newPasskey(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    var ask = WalkCall(method: "POST", path: "/api/mobile/auth/passkey/register/options")
    ask.fields = bearer(known).map { [$0] } ?? []
    var verify = WalkCall(method: "POST", path: "/api/mobile/auth/passkey/register/verify")
    verify.fields = ask.fields
    verify.members = [
      .init(name: "credential", value: .created(answer(first, "challenge"))),
      .init(name: "name", value: .text(ValueNames.thiefName)),
    ]
    return [ask, verify]
  }

  private mutating func newAddress(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    var ask = WalkCall(method: "PUT", path: "/api/mobile/profile")
    ask.fields = bearer(known).map { [$0] } ?? []
    ask.members = [.init(name: "email", value: ValueNames.madeUp("email")[0])]
    return [ask] + usesOfLink("/account/address", answer(first, "token"))
  }

  private mutating func signUp(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    let device = device(known)
    var begin = signIn(
      "/api/mobile/auth/register", on: device, known, email: ValueNames.madeUp("email")[0])
    begin.members.append(.init(name: "name", value: .text(ValueNames.thiefName)))
    let token = answer(first, "token")
    var links = usesOfLink("/account/confirm", token)
    links[1].members.append(.init(name: "answer", value: .text(isLucky(80) ? "yes" : "no")))
    return [begin] + (isLucky(60) ? links : usesOfLink("/account/end", token))
  }

  private mutating func pairing(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    guard known.sources["refresh_token"] != nil else { return [] }
    if isLucky(50) {
      var next = WalkCall(method: "POST", path: "/api/auth/refresh")
      next.members =
        token("refresh_token", named: "refresh_token", in: &next, known)
        .map { [.init(name: "refresh_token", value: $0)] } ?? []
      return [next]
    }
    var ask = WalkCall(method: "POST", path: "/api/auth/ticket")
    ask.fields =
      token("access_token", named: "Authorization", in: &ask, known)
      .map { [.init(name: "Authorization", value: $0)] } ?? []
    var use = WalkCall(method: "GET", path: "/_auth")
    use.query = [.init(name: "token", value: answer(first, "token"))]
    return [ask, use]
  }

  private mutating func listed(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    let (list, kind, uses) = Self.lists.randomElement(using: &chance)!
    var look = WalkCall(method: "GET", path: list)
    look.fields = bearer(known).map { [$0] } ?? []
    let (method, path) = uses.randomElement(using: &chance)!
    var use = WalkCall(method: method, path: path)
    use.fields = look.fields
    use.pathItem = answer(first, kind)
    if method == "PUT" { use.members = [.init(name: "name", value: .text(ValueNames.thiefName))] }
    return [look, use]
  }

  private static let lists: [(list: String, kind: String, uses: [(String, String)])] = [
    (
      "/api/mobile/passkeys", "id",
      [("PUT", "/api/mobile/passkeys/:id"), ("DELETE", "/api/mobile/passkeys/:id")]
    ),
    (
      "/api/mobile/wallet/cards", "id",
      [
        ("POST", "/api/mobile/wallet/cards/:id/default"),
        ("DELETE", "/api/mobile/wallet/cards/:id"),
      ]
    ),
    (
      "/api/mobile/devices", "deviceId",
      [("PUT", "/api/mobile/devices/:deviceId"), ("DELETE", "/api/mobile/devices/:deviceId")]
    ),
    ("/api/mobile/enrollment/list", "id", [("DELETE", "/api/mobile/enrollment/:id")]),
  ]

  /// Opens a mailed link and presses its button.
  private func usesOfLink(_ path: String, _ token: ValueSource) -> [WalkCall] {
    var open = WalkCall(method: "GET", path: path)
    open.query = [.init(name: "token", value: token)]
    var press = WalkCall(method: "POST", path: path)
    press.members = open.query
    return [open, press]
  }
}

extension Chooser {
  private func open(_ cookie: ValueSource, _ path: String = "/account") -> WalkCall {
    var call = WalkCall(method: "GET", path: path)
    call.fields = [.init(name: "Cookie", value: cookie)]
    return call
  }

  private func form(_ path: String, from page: Int, _ cookie: ValueSource) -> WalkCall {
    var call = WalkCall(method: "POST", path: path)
    call.fields = [.init(name: "Cookie", value: cookie)]
    call.members = [.init(name: "token", value: answer(page, "token"))]
    return call
  }

  private mutating func pageCode(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    var ask = WalkCall(method: "POST", path: "/account/code")
    ask.members = [.init(name: "email", value: value(of: "email", known) ?? .text("x"))]
    if isLucky(30), let cookie = pick("Cookie", known) {
      ask.fields = [.init(name: "Cookie", value: cookie)]
    }
    let cookie = answer(first, "Cookie")
    var signIn = form("/account/sign-in", from: first + 1, cookie)
    signIn.members.append(.init(name: "code", value: answer(first, "code")))
    return [ask, open(cookie), signIn] + deed(known, first + 3, answer(first + 2, "Cookie"))
  }

  private mutating func pagePasskey(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    let ask = WalkCall(method: "POST", path: "/account/passkey")
    let cookie = answer(first, "Cookie")
    var signIn = form("/account/passkey/sign-in", from: first + 1, cookie)
    let challenge = answer(first + 1, "challenge")
    signIn.members.append(.init(name: "credential", value: asserted(challenge)))
    return [ask, open(cookie), signIn] + deed(known, first + 3, answer(first + 2, "Cookie"))
  }

  private mutating func pageForm(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    pick("Cookie", known).map { deed(known, first, $0) } ?? []
  }

  /// An action of a signed-in person.
  private mutating func deed(
    _ known: KnownValues, _ first: Int, _ cookie: ValueSource
  ) -> [WalkCall] {
    let deeds = ["name", "email", "remove", "delete", "sign-out", "export"]
    let path = deeds.randomElement(using: &chance)!
    var call = form("/account/\(path)", from: first, cookie)
    switch path {
    case "name": call.members.append(.init(name: "name", value: .text(ValueNames.thiefName)))
    case "email":
      call.members.append(.init(name: "email", value: ValueNames.madeUp("email")[0]))
      return [open(cookie), call] + usesOfLink("/account/address", answer(first + 1, "token"))
    case "remove":
      let kind = ValueNames.madeUp("kind").randomElement(using: &chance)!
      // Mostly an item from the page.
      let id = isLucky(70) ? answer(first, "id") : value(of: "id", known)
      call.members += [
        .init(name: "kind", value: isLucky(70) ? answer(first, "kind") : kind),
        .init(name: "id", value: id ?? .text("x")),
      ]
    case "delete": return [open(cookie, "/account/delete"), call]
    case "export": return [open(cookie, "/account/export")]
    default: break
    }
    return [open(cookie), call]
  }
}
