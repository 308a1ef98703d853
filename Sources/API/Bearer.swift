import Cryptography
import FastCGI
import Store

/// The claims of an access token (contract: sub, iss, aud, iat, exp, deviceId, type; ours: sid,
/// gen).
private struct AccessClaims: Decodable {
  let sub: String
  let iss: String
  let aud: String
  let iat: Int64
  let exp: Int64
  let deviceId: String
  let type: String
  let sid: String
  let gen: Int64
}

extension Context {
  /// The bearer of the request's access token (RFC 6750 §2.1), with the device credential if one
  /// came along.
  ///
  /// Whether the session is alive is asked by the statement that does the work.
  ///
  /// - Throws: ``Failure/noCredentials``; ``Failure/invalidToken``;
  ///   ``Failure/invalidDeviceCredential``.
  func authenticate(_ request: Request) throws -> Caller {
    guard let token = request.bearerToken else { throw Failure.noCredentials }
    guard let claims = claims(of: token) else { throw Failure.invalidToken }
    return Caller(
      accountID: claims.sub, clientDeviceID: claims.deviceId, sessionID: claims.sid,
      generation: claims.gen,
      credentialHash: try deviceCredentialHash(request, for: claims.deviceId), origin: origin)
  }

  /// The account of the bearer, if the token is good; for routes that may be asked without one.
  func account(of request: Request) -> String? {
    request.bearerToken.flatMap { claims(of: $0)?.sub }
  }

  /// SHA-256 of the `X-Device-Credential` that came along, if one did and we sealed it for this
  /// device.
  ///
  /// - Throws: ``Failure/invalidDeviceCredential``.
  func deviceCredentialHash(_ request: Request, for clientDeviceID: String) throws -> [UInt8]? {
    guard let credential = request.field("X-Device-Credential") else { return nil }
    do throws(CryptographyError) {
      _ = try open(credential, authenticating: clientDeviceID, with: settings.credentialKeys)
    } catch {
      throw Failure.invalidDeviceCredential
    }
    return sha256(credential)
  }

  /// The claims of `token`, if it verifies, is an access token of this site, and has not expired.
  ///
  /// - Note: `exp` equal to `now` is already expired (RFC 7519 §4.1.4); `iat` may be a minute
  ///   ahead.
  private func claims(of token: String) -> AccessClaims? {
    // Any reason is the same answer: a refusal by either line is 401.
    guard let payload = try? JSONWebToken.verify(token, with: settings.jwtKeys),
      let claims = try? decode(AccessClaims.self, from: payload)
    else { return nil }
    let isOurs =
      claims.type == "access" && claims.iss == settings.publicURL && claims.aud == "mwsim"
    let isValid = claims.exp > now.seconds && claims.iat <= now.seconds + 60
    return isOurs && isValid ? claims : nil
  }
}

extension Request {
  /// The token of an `Authorization` field whose scheme is Bearer, in any case.
  fileprivate var bearerToken: String? {
    guard let value = field("Authorization"), let space = value.firstIndex(of: " "),
      value[..<space].lowercased() == "bearer"
    else { return nil }
    let token = value[space...].drop { $0 == " " }
    return token.isEmpty ? nil : String(token)
  }
}
