import Base
import Cryptography
import HTTP
import Store

/// `GET /api/status`: that the site works, and which agent is behind it.
///
/// - Throws: ``Failure/notAdmitted``.
func getStatus(_ request: Request, in context: borrowing Context) throws -> Response {
  guard try context.admission(of: request) == .admitted else { throw Failure.notAdmitted }
  let session = try context.records.pairingTokens.session()
  return .json { json in
    json.member("status", "ok")
    json.member("session", session)
    json.member("repo", context.settings.agent.repo)
    json.member("auth_required", context.settings.agent.requiresAuth)
  }
}

/// `POST /api/auth/ticket`: what to write into a URL instead of the bearer's token.
///
/// - Throws: ``Failure/notAdmitted``; ``Failure/noTokensHere``.
func issueTicket(_ request: Request, in context: borrowing Context) throws -> Response {
  guard context.settings.agent.requiresAuth else { throw Failure.noTokensHere }
  guard let token = request.bearerToken.flatMap({ context.pairingToken($0) }),
    try context.records.agentAccess.admit(token) == .admitted
  else { throw Failure.notAdmitted }
  let ticket = base64URLEncoded(context.random(32))
  let expiresAt = try context.records.agentAccess.issue(
    NewTicket(hash: sha256(ticket), owner: token))
  return .json { json in
    json.member("ticket", ticket)
    json.member("expires_at", expiresAt.rfc3339)
  }
}

/// `GET /_auth`: nginx asks (`auth_request`) whether a request to the agent may pass. The target of
/// that request is in `REQUEST_URI`.
///
/// - Throws: ``Failure/notAdmitted``; ``Failure/tokenExpired`` for a web socket alone.
func admitToAgent(_ request: Request, in context: borrowing Context) throws -> Response {
  let path = request.requestURI.prefix { $0 != "?" }
  switch try context.admission(of: request) {
  case .admitted: return Response(status: 204)
  case .expired where path == "/ws": throw Failure.tokenExpired
  case .expired, .refused: throw Failure.notAdmitted
  }
}

extension Context {
  /// Whether the request may reach the agent, by its bearer token or else by the `token` in its URL.
  fileprivate func admission(of request: Request) throws -> Admission {
    guard settings.agent.requiresAuth else { return .admitted }
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
