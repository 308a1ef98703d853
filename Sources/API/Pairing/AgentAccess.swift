import Base
import Cryptography
import HTTP
import Store

/// `GET /api/status`: that the site works, and which agent is behind it. `agent` is `up`, `away`, or
/// `unknown` where the responder knows no relay.
///
/// - Throws: ``Failure/notAdmitted``; ``Failure/foreignAddress`` and ``Failure/foreignPage`` where no token
///   is asked for.
func getStatus(_ request: Request, in context: borrowing Context) throws -> Response {
  guard case .admitted = try context.admission(of: request) else { throw Failure.notAdmitted }
  let session = try context.records.pairingTokens.session()
  let probe = context.settings.relaySocket.map { AgentProbe(socketPath: $0) }
  let agent = probe.map { $0.agentAnswers() ? "up" : "away" } ?? "unknown"
  return .json { json in
    json.member("status", "ok")
    json.member("agent", agent)
    json.member("session", session)
    json.member("repo", context.settings.agent.repo)
    json.member("auth_required", context.settings.agent.requiresAuth)
  }
}

/// `POST /api/auth/ticket`: what to write into a URL instead of the bearer's token.
///
/// - Throws: ``Failure/notAdmitted``; ``Failure/noTokensHere``; ``Failure/tooManyRequests(retryAfter:)``.
func issueTicket(_ request: Request, in context: borrowing Context) throws -> Response {
  guard context.settings.agent.requiresAuth else { throw Failure.noTokensHere }
  guard let token = request.bearerToken.flatMap({ context.pairingToken($0) }),
    case .admitted = try context.records.agentAccess.admit(token)
  else { throw Failure.notAdmitted }
  let ticket = base64URLEncoded(context.random(32))
  let expiresAt = try context.records.agentAccess.issue(
    NewTicket(hash: sha256(ticket), owner: token))
  return .json { json in
    json.member("ticket", ticket)
    json.member("expires_at", expiresAt.rfc3339)
  }
}

/// `GET /_auth`: a web server asks whether a request to the agent may pass, nginx by `auth_request`, others by FastCGI's
/// role of an authorizer. The target of that request is in `REQUEST_URI`.
///
/// - Throws: ``Failure/notAdmitted``; for a web socket alone ``Failure/tokenExpired``, and
///   ``Failure/foreignPage`` where a page of another site opens it; where no token is asked for, that and
///   ``Failure/foreignAddress``.
func admitToAgent(_ request: Request, in context: borrowing Context) throws -> Response {
  // As the web server routes it: another spelling of /ws is /ws too.
  let path = request.targetPath
  // An app that is no page sends no Origin.
  guard path != "/ws" || context.isOwnOrigin(of: request) else { throw Failure.foreignPage }
  switch try context.admission(of: request) {
  case .admitted(let client) where request.isAuthorization:
    return Response(status: 200, fields: [("Variable-ADMITTED_BY", client.text)])
  case .admitted(let client):
    return Response(status: 204, fields: [(AgentClient.fieldName, client.text)])
  case .expired where path == "/ws": throw Failure.tokenExpired
  case .expired, .refused: throw Failure.notAdmitted
  }
}

extension Context {
  /// Whether the request may reach the agent, by its bearer token or else by the `token` in its URL.
  fileprivate func admission(of request: Request) throws -> Admission {
    guard settings.agent.requiresAuth else {
      try requirePairingAccess(request)
      return .admitted(.anyone)
    }
    if let bearer = request.bearerToken { return try admission(ofToken: bearer) }
    guard let text = request.requestURIQueryItem("token"), !text.isEmpty else { return .refused }
    if text.hasPrefix("cdev_") { return try admission(ofToken: text) }
    return try records.agentAccess.spendTicket(sha256(text))
  }

  private func admission(ofToken text: String) throws -> Admission {
    guard let token = pairingToken(text) else { return .refused }
    return try records.agentAccess.admit(token)
  }
}

extension Failure {
  fileprivate static let tokenExpired = Failure.forbidden("Token expired")
}
