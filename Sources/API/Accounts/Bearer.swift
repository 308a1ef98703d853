import Base
import Cryptography
import HTTP
import Store

/// The claims of an access token (contract: sub, iss, aud, iat, exp, deviceId, type; ours: sid, gen).
private struct AccessClaims {
  var sub = ""
  var iss = ""
  var aud = ""
  var iat: Int64 = .max
  var exp: Int64 = 0
  var deviceId = ""
  var type = ""
  var sid = ""
  var gen: Int64 = 0

  init(json: [UInt8]) throws {
    var reader = JSONReader(json)
    try reader.object { name, value in
      switch name {
      case "sub": sub = try value.string()
      case "iss": iss = try value.string()
      case "aud": aud = try value.string()
      case "iat": iat = try value.integer()
      case "exp": exp = try value.integer()
      case "deviceId": deviceId = try value.string()
      case "type": type = try value.string()
      case "sid": sid = try value.string()
      case "gen": gen = try value.integer()
      default: try value.skip()
      }
    }
    try reader.end()
  }
}

extension Context {
  /// The bearer of the request's access token (RFC 6750 §2.1), with the device credential if the
  /// request has one.
  ///
  /// The transaction that does the work checks that the session is still valid.
  ///
  /// - Throws: ``Failure/noCredentials``; ``Failure/invalidToken``.
  func authenticate(_ request: Request) throws -> Caller {
    guard let token = request.bearerToken else { throw Failure.noCredentials }
    guard let caller = try caller(of: request, with: token) else { throw Failure.invalidToken }
    return caller
  }

  /// The bearer for routes that do not need one; nil if the token is missing or invalid.
  ///
  /// - Throws: ``Failure/repeatedField(_:)``.
  func caller(of request: Request) throws -> Caller? {
    guard let token = request.bearerToken else { return nil }
    return try caller(of: request, with: token)
  }

  private func caller(of request: Request, with token: String) throws -> Caller? {
    guard let claims = claims(of: token) else { return nil }
    return try Caller(
      accountID: claims.sub, clientDeviceID: claims.deviceId, sessionID: claims.sid,
      place: TokenPlace(number: claims.gen), credentialHash: request.deviceCredentialHash)
  }

  /// The id of the bearer's account, for routes that do not need a token; nil if it is missing or invalid.
  func account(of request: Request) -> String? {
    request.bearerToken.flatMap { claims(of: $0)?.sub }
  }

  /// The claims of `token`, if it verifies, is an access token of this site, and has not expired.
  ///
  /// - Note: `exp` equal to `now` is already expired (RFC 7519 §4.1.4); `iat` may be a minute
  ///   ahead.
  private func claims(of token: String) -> AccessClaims? {
    // try?: the answer is 401 for every problem of the token.
    guard let payload = try? JSONWebToken.verify(token, with: settings.jwtKeys),
      let claims = try? AccessClaims(json: payload)
    else { return nil }
    let isOurs =
      claims.type == "access" && settings.publicURLs.contains(claims.iss) && claims.aud == "mwsim"
    let isValid = claims.exp > now.seconds && claims.iat <= now.seconds + 60
    let isWhole =
      !claims.sub.isEmpty && !claims.deviceId.isEmpty && !claims.sid.isEmpty && claims.gen > 0
    return isOurs && isValid && isWhole ? claims : nil
  }
}

extension Request {
  /// SHA-256 of the `X-Device-Credential`, if the request has it. The database finds the device by this hash.
  ///
  /// - Throws: ``Failure/repeatedField(_:)``.
  var deviceCredentialHash: [UInt8]? {
    get throws { try credentialField("X-Device-Credential").map { sha256($0) } }
  }

  /// The value of a field that holds a credential. Two credentials have no meaning, and programs would differ in which of them
  /// they read.
  ///
  /// - Throws: ``Failure/repeatedField(_:)``, also if the web server has joined two values with a comma, which no credential
  ///   has.
  func credentialField(_ name: String) throws -> String? {
    let values = fieldValues(name)
    guard values.count < 2, values.first?.utf8.contains(UInt8(ascii: ",")) != true else {
      throw Failure.repeatedField(name)
    }
    return values.first
  }

  /// The token of an `Authorization` field whose scheme is Bearer, in any case.
  var bearerToken: String? { credentials("bearer") }
}

extension Failure {
  static func repeatedField(_ name: String) -> Failure {
    Failure(
      status: 400, sentence: \.unknownRequest, message: "The field \(name) is sent more than once")
  }

  static let freshProofRequired = Failure(
    status: 403, code: "fresh_proof_required", sentence: \.freshProofRequired)

  /// Sent only to an authenticated caller, so that an attacker does not learn that the account exists.
  static let accountBanned = Failure(
    status: 403, code: "account_banned", sentence: \.accountBanned)
}

extension Refusal: FailureConvertible {
  var failure: Failure {
    switch self {
    case .sessionEnded, .deadBranch, .username: .invalidToken
    case .credential: .invalidDeviceCredential
    case .noFreshProof: .freshProofRequired
    case .banned: .accountBanned
    }
  }
}
