import Base
import Cryptography
import HTTP
import Store
import StoreCore

/// `GET /api/status`: reports that the site works, and the state of its agent. `agent` is `up`, `away`, or
/// `unknown` if the responder has no relay, or if so many requests wait that this one may not.
///
/// - Throws: ``Failure/notAdmitted``; ``Failure/foreignAddress`` and ``Failure/foreignPage`` if the agent
///   requires no token.
func getStatus(_ request: Request, in context: borrowing Context) throws -> Response {
  let admission = try context.admission(of: request)
  guard case .admitted = admission else { throw context.refusal(of: request, admission) }
  let session = try context.records.pairingTokens.session()
  let agent = context.agentState
  return .json { json in
    json.member("status", "ok")
    json.member("agent", agent)
    json.member("session", session)
    json.member("repo", context.settings.agent.repo)
    json.member("auth_required", context.settings.agent.requiresAuth)
  }
}

extension Context {
  /// The agent may be slow to answer, so the request waits without holding a worker.
  fileprivate var agentState: String {
    guard let relaySocket = settings.relaySocket, beginWaiting() else { return "unknown" }
    return AgentProbe(socketPath: relaySocket).agentAnswers() ? "up" : "away"
  }
}

/// `POST /api/auth/ticket`: issues a ticket for use in a URL instead of the bearer's token.
///
/// - Throws: ``Failure/notAdmitted``; ``Failure/noTokensHere``; ``Failure/tooManyRequests(retryAfter:)``.
func issueTicket(_ request: Request, in context: borrowing Context) throws -> Response {
  guard context.settings.agent.requiresAuth else { throw Failure.noTokensHere }
  guard let token = request.bearerToken.flatMap({ context.pairingToken($0) }) else {
    throw context.refusal(of: request, .refused)
  }
  let admission = try context.records.agentAccess.admit(token)
  guard case .admitted = admission else { throw context.refusal(of: request, admission) }
  let ticket = base64URLEncoded(context.random(32))
  let expiresAt = try context.records.agentAccess.issue(
    NewTicket(hash: sha256(ticket), owner: token))
  return .json { json in
    json.member("ticket", ticket)
    json.member("expires_at", expiresAt.rfc3339)
  }
}

/// `GET /_auth`: tells a web server whether a request to the agent may pass. nginx asks by `auth_request`, others by
/// FastCGI's authorizer role. `REQUEST_URI` holds the target of the client's request.
///
/// - Throws: ``Failure/notAdmitted``; ``Failure/tokenExpired``, only for a web socket; ``Failure/foreignPage``, for a
///   web socket that a page of another site opens; ``Failure/foreignPage`` and ``Failure/foreignAddress`` if the agent
///   requires no token.
func admitToAgent(_ request: Request, in context: borrowing Context) throws -> Response {
  // Decoded like the web server's routing: another spelling of /ws is /ws too.
  let path = request.targetPath
  // An app that is not a web page sends no Origin.
  guard path != "/ws" || context.isOwnOrigin(of: request) else { throw Failure.foreignPage }
  let admission = try context.admission(of: request)
  switch admission {
  case .admitted(let client) where request.isAuthorization:
    return Response(status: 200, fields: [("Variable-ADMITTED_BY", client.text)])
  case .admitted(let client):
    return Response(status: 204, fields: [(AgentClient.fieldName, client.text)])
  case .expired where path == "/ws": throw Failure.tokenExpired
  case .expired, .refused: throw context.refusal(of: request, admission)
  }
}

extension Context {
  /// Whether the request may reach the agent, by its bearer token or else by the `token` in its URL.
  fileprivate func admission(of request: Request) throws -> Admission {
    guard settings.agent.requiresAuth else {
      try requirePairingAccess(request)
      return .admitted(.anyone)
    }
    guard let text = token(of: request) else { return .refused }
    if request.bearerToken != nil { return try admission(ofToken: text) }
    if text.hasPrefix("cdev_") { return try admission(ofToken: text) }
    return try records.agentAccess.spendTicket(sha256(text))
  }

  /// The bearer token, or else the `token` in the URL.
  private func token(of request: Request) -> String? {
    request.bearerToken ?? request.requestURIQueryItem("token").flatMap { $0.isEmpty ? nil : $0 }
  }

  /// ``Failure/notAdmitted``, with the reason for the log.
  fileprivate func refusal(of request: Request, _ admission: Admission) -> Failure {
    let text = token(of: request)
    let cause =
      if case .expired = admission {
        "the token has expired"
      } else if let text, text.hasPrefix("cdev_"), pairingToken(text) != nil {
        "the pairing of the token has ended, or the token was replaced"
      } else if text == nil {
        "the request has no token"
      } else {
        "the token is not of this site, or it is a used or expired ticket"
      }
    return Failure.notAdmitted.because(cause)
  }

  private func admission(ofToken text: String) throws -> Admission {
    guard let token = pairingToken(text) else { return .refused }
    return try records.agentAccess.admit(token)
  }
}

extension Failure {
  fileprivate static let tokenExpired = Failure.forbidden("Token expired")
}

extension Endpoint {
  static var getStatus: Endpoint {
    Endpoint(API.getStatus) {
      Operation(
        "Reports that the site works, and whether its agent answers.", .pairedPhone,
        answers: .json([
          "status": .words(["ok"]), "agent": .words(["up", "away", "unknown"]), "session": .string,
          "repo": .string, "auth_required": .boolean,
        ]), errors: [.foreignAddress, .foreignPage])
    }
  }

  static var issueTicket: Endpoint {
    Endpoint(API.issueTicket) {
      Operation(
        "Issues a ticket for use in a URL instead of the phone's token.", .pairedPhone,
        answers: .json(["ticket": .string, "expires_at": .time]), errors: [.noTokensHere],
        limits: [.tickets])
    }
  }

  static var admitToAgent: Endpoint {
    Endpoint(API.admitToAgent) {
      Operation(
        """
        Tells the web server whether a request to the agent may pass. The web server keeps this path to itself: other clients get \
        404.
        """, .pairedPhone,
        answers: .init(
          status: 204, meaning: "It may pass.", fields: [AgentClient.fieldName]),
        .init(status: 200, meaning: "It may pass, for FastCGI's authorizer."),
        errors: [.tokenExpired, .foreignAddress, .foreignPage, .notFound])
    }
  }

  /// Requests to the agent, which the web server passes to it.
  static var agentSocket: Endpoint {
    Endpoint(API.refuseRelayed) {
      Operation(
        "Opens a web socket to the agent, through the relay.", .pairedPhone,
        answers: .init(
          status: 101, meaning: "The web socket is open; its messages are the agent's."),
        errors: [.tokenExpired, .foreignAddress, .foreignPage])
    }
  }

  static var agentPath: Endpoint {
    Endpoint(API.refuseRelayed) {
      Operation(
        """
        Passes the request to the agent, through the relay. The path may have more segments, and the agent decides about \
        methods, bodies and answers.
        """, .pairedPhone, item: .init("The rest of the path."),
        answers: .init(status: 200, meaning: "The agent's answer.", type: "*/*"),
        errors: [.tokenExpired, .foreignAddress, .foreignPage, .notFound])
    }
  }
}

/// The answer to a request to the agent that the web server wrongly passes to us.
private func refuseRelayed(_ request: Request, in context: borrowing Context) throws -> Response {
  throw Failure.notFound
}

extension Access {
  fileprivate static let pairedPhone = Access(
    alternatives: [[.pairedPhone], [.pairingTicket]], errors: [.notAdmitted])
}
