import HTTP

extension Family {
  /// Phones that pair with the agent behind this site with a QR code.
  static let pairing = Family(
    "pairing", "Phones that pair with the agent behind this site with a QR code.",
    paths: [
      "/pair", "/pair/phones", "/pair/phones/name", "/api/pair/", "/api/auth/", "/api/status",
      Request.authorizationPath,
    ],
    errors: .message,
    routes: [
      Route("GET", "/pair", .getPairingPage),
      Route("POST", "/pair", .renewPairingPage),
      Route("GET", "/pair/phones", .getPhonesPage),
      Route("POST", "/pair/phones", .endPairing),
      Route("POST", "/pair/phones/name", .renamePhone),
      Route("GET", "/api/pair/info", .getPairingInfo),
      Route("GET", "/api/pair/qr", .getPairingCode),
      Route("POST", "/api/pair/refresh", .replacePairingTokens),
      Route("POST", "/api/pair/code", .exchangeTypedCode),
      Route("POST", "/api/auth/exchange", .exchangePairingToken),
      Route("POST", "/api/auth/refresh", .refreshPairing),
      Route("POST", "/api/auth/revoke", .revokePairing),
      Route("POST", "/api/auth/ticket", .issueTicket),
      Route("GET", "/api/status", .getStatus),
      Route("GET", Request.authorizationPath, .admitToAgent),
    ],
    relayed: [
      Route("GET", "/ws", .agentSocket),
      Route("GET", "/api/claude/:path", .agentPath),
      Route("POST", "/api/claude/:path", .agentPath),
      Route("GET", "/api/git/:path", .agentPath),
      Route("POST", "/api/git/:path", .agentPath),
      Route("GET", "/api/file", .agentPath),
    ],
    errorPage: { failure, request in
      guard request.path == "/pair" || request.path.hasPrefix("/pair/") else { return nil }
      let language = request.messageLanguage
      let link = Page.link("/pair", PageTexts(in: language).toPhones)
      return .failurePage(failure, link, in: language)
    })
}

extension Failure {
  static let invalidPairingBody = Failure.badRequest("Invalid request body")

  static let noTokensHere = Failure(
    status: 404, sentence: \.noTokensHere, message: "No authentication is required here")

  static let notAdmitted = Failure.unauthorized("Unauthorized")
}
