import FastCGI

/// One method of one path; a path may hold one `:name`, which stands for a whole segment.
struct Route: Sendable {
  typealias Handler = @Sendable (Request, borrowing Context) throws -> Response

  let method: String
  let path: String
  let handler: Handler
  /// Whether it is answered to HEAD as well: a GET that changes something is not, for HEAD is asked by those who
  /// only look (RFC 9110 §9.2.1).
  let hasHead: Bool

  init(
    _ method: String, _ path: String, changes: Bool = false, _ handler: @escaping Handler
  ) {
    self.method = method
    self.path = path
    self.handler = handler
    hasHead = method == "GET" && !changes
  }

  /// The table of contents of the site.
  static let all: [Route] =
    [Route("GET", "/health", getHealth)] + preferences + attestation + push + wallet + pairing
    + turns

  private static let preferences = [
    Route("GET", "/api/v1/device-prefs", getPreferences),
    Route("POST", "/api/v1/device-prefs", postPreferences),
    Route("GET", "/api/v1/models", getModels),
    Route("POST", "/api/v1/push/register", registerPushToken),
  ]

  private static let attestation = [
    Route("POST", "/api/app-attestation/challenge", requestAttestationChallenge),
    Route("POST", "/api/app-attestation/verify", enrollAttestedKey),
    Route("POST", "/api/app-attestation/verify-key", checkAttestedKey),
  ]

  private static let push = [
    Route("POST", "/api/push/register", addPushToken),
    Route("OPTIONS", "/api/push/register", answerPreflight),
    Route("POST", "/api/push/unregister", removePushTokens),
    Route("OPTIONS", "/api/push/unregister", answerPreflight),
    Route("POST", "/api/push/test", testPush),
    Route("OPTIONS", "/api/push/test", answerPreflight),
  ]

  private static let wallet = [
    Route("POST", "/api/mobile/device/register", registerDevice),
    Route("POST", "/api/mobile/device/push-token", setPushToken),
    Route("DELETE", "/api/mobile/device/push-token", clearPushToken),
    Route("DELETE", "/api/mobile/device/push-token/:deviceId", clearPushToken),
    Route("GET", "/api/mobile/devices", getDevices),
    Route("DELETE", "/api/mobile/devices/:deviceId", revokeDevice),
    Route("POST", "/api/mobile/auth/register", createAccount),
    Route("POST", "/api/mobile/auth/login", startSignIn),
    Route("POST", "/api/mobile/auth/login/verify", signIn),
    Route("POST", "/api/mobile/auth/biometric/setup", setUpBiometrics),
    Route("POST", "/api/mobile/auth/biometric/challenge", requestChallenge),
    Route("POST", "/api/mobile/auth/biometric/verify", signInWithBiometrics),
    Route("POST", "/api/mobile/auth/passkey/register/options", startPasskeyRegistration),
    Route("POST", "/api/mobile/auth/passkey/register/verify", registerPasskey),
    Route("GET", "/.well-known/apple-app-site-association", getAssociatedApps),
    Route("GET", "/api/mobile/passkeys", getPasskeys),
    Route("DELETE", "/api/mobile/passkeys/:id", removePasskey),
    Route("POST", "/api/mobile/auth/token/refresh", refreshTokens),
    Route("POST", "/api/mobile/auth/logout", logOut),
    Route("GET", "/api/mobile/wallet/summary", getSummary),
    Route("GET", "/api/mobile/wallet/cards", getCards),
    Route("POST", "/api/mobile/wallet/cards/:id/default", makeCardDefault),
    Route("DELETE", "/api/mobile/wallet/cards/:id", removeCard),
    Route("GET", "/api/enrollment/start/:bsimId", changes: true, startEnrollment),
    Route("POST", "/api/mobile/enrollment/start/:bsimId", startEnrollmentInApp),
    Route("GET", "/api/enrollment/callback/:bsimId", changes: true, finishEnrollment),
    Route("POST", "/api/enrollment/callback/:bsimId", finishConfirmedEnrollment),
    Route("GET", "/api/mobile/enrollment/banks", getBanks),
    Route("GET", "/api/mobile/enrollment/list", getEnrollments),
    Route("DELETE", "/api/mobile/enrollment/:id", removeEnrollment),
    Route("POST", "/api/merchant/payment/initiate", beginPayment),
    Route("POST", "/api/merchant/payment/confirm", confirmPayment),
  ]

  private static let pairing = [
    Route("GET", "/pair", getPairingPage),
    Route("POST", "/pair", renewPairingPage),
    Route("GET", "/api/pair/info", getPairingInfo),
    Route("GET", "/api/pair/qr", getPairingCode),
    Route("POST", "/api/pair/refresh", replacePairingTokens),
    Route("POST", "/api/auth/exchange", exchangePairingToken),
    Route("POST", "/api/auth/refresh", refreshPairing),
    Route("POST", "/api/auth/revoke", revokePairing),
    Route("POST", "/api/auth/ticket", issueTicket),
    Route("GET", "/api/status", getStatus),
    Route("GET", "/_auth", admitToAgent),
  ]

  private static let turns = [
    Route("POST", "/generate-api-key", generateAPIKey),
    Route("POST", "/register", registerForTurns),
    Route("DELETE", "/register", unregisterFromTurns),
    Route("GET", "/check/:user_id", checkTurns),
    Route("GET", "/diagnostics/:user_id", getDiagnostics),
    Route("GET", "/users-by-token/:device_token", getUsersByToken),
  ]
}

/// Finds the route of a request.
struct Router: Sendable {
  /// By path.
  private var exact: [String: [Route]] = [:]
  /// By path, `:` alone in place of `:name`, which stands in the last segment or the one before.
  private var patterns: [String: [Route]] = [:]

  init(_ routes: [Route]) {
    for route in routes {
      let segments = route.path.split(separator: "/", omittingEmptySubsequences: false)
      let pattern = segments.map { $0.hasPrefix(":") ? ":" : $0 }.joined(separator: "/")
      if pattern == route.path {
        exact[pattern, default: []].append(route)
      } else {
        patterns[pattern, default: []].append(route)
      }
    }
  }

  /// - Throws: ``Failure/notFound(_:)``; ``Failure/methodNotAllowed(allow:)``.
  func route(for request: Request) throws -> (Route, pathItem: String) {
    let (routes, item) = try routes(at: request.path)
    let method = request.method
    if let route = routes.first(where: { $0.method == method || method == "HEAD" && $0.hasHead }) {
      return (route, item)
    }
    let allowed = routes.flatMap { $0.hasHead ? ["GET", "HEAD"] : [$0.method] }
    throw Failure.methodNotAllowed(allow: allowed.joined(separator: ", "))
  }

  /// Whether the path is known, whatever the method.
  func hasRoute(at request: Request) -> Bool {
    request.defect != .ambiguousPath && exact[request.path] != nil
  }

  private func routes(at path: String) throws -> ([Route], item: String) {
    if let routes = exact[path] { return (routes, "") }
    var segments = path.split(separator: "/", omittingEmptySubsequences: false)
    for index in segments.indices.suffix(2).reversed() where !segments[index].isEmpty {
      let item = String(segments[index])
      segments[index] = ":"
      if let routes = patterns[segments.joined(separator: "/")] { return (routes, item) }
      segments[index] = Substring(item)
    }
    throw Failure.notFound()
  }
}
