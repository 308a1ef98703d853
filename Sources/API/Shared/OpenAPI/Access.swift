import Base

/// The ways in which a caller proves who it is.
struct Access: Sendable {
  enum Credential: String, CaseIterable {
    case accessToken, deviceCredential, username, merchantKey, apiKey, browserCookie,
      enrollmentCookie
    case pairedPhone, pairingTicket
  }

  /// Each is a set of credentials that suffices; an empty set needs none.
  let alternatives: [[Credential]]
  /// The errors of missing and wrong credentials.
  let errors: [Failure]

  static let open = Access(alternatives: [], errors: [])

  /// The access token of a sign-in.
  static let bearer = Access(
    alternatives: [[.accessToken], [.accessToken, .deviceCredential]],
    errors: [.noCredentials, .invalidToken, .invalidDeviceCredential])

  /// A device before its sign-in. Once it has a credential, it must show it.
  static let device = Access(
    alternatives: [[], [.deviceCredential]], errors: [.invalidDeviceCredential])
}

extension Access.Credential {
  /// The Security Scheme Object.
  func scheme(in settings: Settings) -> JSONValue {
    switch self {
    case .accessToken:
      Self.bearer("The `accessToken` of a sign-in. It expires after an hour; refresh it.", "JWT")
    case .deviceCredential:
      Self.field("X-Device-Credential", "The `deviceCredential` of this device's registration.")
    case .username: Self.field("X-Username", "The account's name, next to its access token.")
    case .merchantKey: Self.field("x-api-key", "The key of a merchant.")
    case .apiKey: Self.field("X-API-Key", "The key of a user of online-go.com.")
    case .browserCookie:
      Self.cookie(.visit(at: settings.publicURL), "The sign-in of a browser at `/account`.")
    case .enrollmentCookie:
      Self.cookie(
        .enrollment(at: settings.publicURL), "The browser that began an enrollment at a bank.")
    case .pairedPhone: Self.bearer("The `access_token` of a paired phone.", "cdev")
    case .pairingTicket:
      ["type": "apiKey", "in": "query", "name": "token", "description": "A ticket, usable once."]
    }
  }

  private static func bearer(_ meaning: JSONValue, _ format: JSONValue) -> JSONValue {
    ["type": "http", "scheme": "bearer", "bearerFormat": format, "description": meaning]
  }

  private static func field(_ name: JSONValue, _ meaning: JSONValue) -> JSONValue {
    ["type": "apiKey", "in": "header", "name": name, "description": meaning]
  }

  private static func cookie(_ cookie: BrowserCookie, _ meaning: JSONValue) -> JSONValue {
    ["type": "apiKey", "in": "cookie", "name": .string(cookie.name), "description": meaning]
  }
}
