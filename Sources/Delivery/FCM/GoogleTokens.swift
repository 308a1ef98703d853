import Base
import Cryptography
import Glibc
import Store

/// Reason why there is no access token.
enum GoogleTokenError: Error, CustomStringConvertible {
  /// Google refuses the service account.
  case refused(String)
  case unreachable(String)
  /// Another process has asked and is still waiting for an answer.
  case awaited

  var description: String {
    switch self {
    case .refused(let word):
      "Google refuses the service account: \(word). Check FCM_SERVICE_ACCOUNT, and the clock"
    case .unreachable(let reason): "Google's token endpoint cannot be reached: \(reason)"
    case .awaited: "Google's token endpoint has not answered another process yet"
    }
  }
}

/// Access token of the service account, shared by all runs, processes and hosts through the
/// database. One process exchanges a signed assertion for a new token (RFC 7523); the others wait.
struct GoogleTokens: Sendable {
  let database: Database
  let settings: FCMSettings
  let sealingKeys: CompanionKeys
  var clock = LimitClock.system

  private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
  /// Remaining lifetimes of a usable token. A longer one means that the clock was set back.
  private static let usable = Duration.seconds(300)...Duration.seconds(2 * 3600)
  private static let waitLimit = Duration.seconds(8)

  private var context: String { "FCM access token \(settings.account)" }

  /// Returns the shared token, and gets a new one if necessary.
  ///
  /// - Parameter refused: the token that Google has just refused; nil at first.
  /// - Throws: ``GoogleTokenError``; the database's error if it does not answer.
  func current(insteadOf refused: String?) throws -> String {
    let deadline = clock.now() + Self.waitLimit
    repeat {
      let shared = try tokens.newest(of: settings.account)
      if let token = open(shared), token != refused { return token }
      let claimID = newClaimID()
      if try tokens.claim(settings.account, after: shared.generation, as: claimID) {
        return try exchange(claimID)
      }
      usleep(100_000)
    } while clock.now() < deadline
    throw GoogleTokenError.awaited
  }

  private var tokens: FCMAccessTokens {
    database.records(at: .now(), from: .companion).fcmAccessTokens
  }

  /// - Returns: nil if there is no usable token, or if our keys cannot open it.
  private func open(_ shared: SharedAccessToken) -> String? {
    guard let sealed = shared.sealed, Self.usable.contains(shared.remaining) else { return nil }
    do throws(CryptographyError) {
      return String(
        decoding: try sealingKeys.open(sealed, authenticating: context), as: UTF8.self)
    } catch {
      return nil
    }
  }

  /// Gets a token from Google. If that fails, no process asks again before the claim expires.
  private func exchange(_ claimID: String) throws -> String {
    let form = [
      ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
      ("assertion", try assertion(at: database.now())),
    ].map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
    let answer = try ask(form)
    let body = GrantedToken(answer.body)
    guard answer.status == 200, let token = body.token else {
      let word = body.error ?? "\(answer.status)"
      throw 400...499 ~= answer.status && answer.status != 429
        ? GoogleTokenError.refused(word) : .unreachable(word)
    }
    try tokens.keep(
      sealingKeys.seal(Array(token.utf8), authenticating: context), of: settings.account,
      for: body.lifetime, by: claimID)
    return token
  }

  private func ask(_ form: String) throws(GoogleTokenError) -> HTTPAnswer {
    guard let url = Destination(configured: settings.tokenURL), url.isConfidential else {
      throw .unreachable("it is not an https address")
    }
    let client = HTTPClient(userAgent: "Switchboard/\(Product.version)", clock: clock)
    var limits = HTTPClient.Limits()
    limits.connecting = .seconds(3)
    limits.total = .seconds(6)
    limits.body = 64 << 10
    do throws(HTTPError) {
      return try client.post(
        Array(form.utf8), to: url,
        fields: ["Content-Type: application/x-www-form-urlencoded"], limits: limits)
    } catch {
      throw .unreachable(error.reason)
    }
  }

  /// Signed assertion that identifies us: a JWT that is valid for an hour (RFC 7523 §3).
  private func assertion(at now: Timestamp) throws(CryptographyError) -> String {
    let header = JSONWriter.object {
      $0.member("alg", "RS256")
      $0.member("kid", settings.keyID)
      $0.member("typ", "JWT")
    }
    let claims = JSONWriter.object {
      $0.member("iss", settings.account)
      $0.member("scope", Self.scope)
      $0.member("aud", settings.tokenURL)
      $0.member("iat", now.seconds)
      $0.member("exp", now.seconds + 3600)
    }
    let input = "\(base64URLEncoded(header)).\(base64URLEncoded(claims))"
    return "\(input).\(base64URLEncoded(try settings.key.signRS256(input)))"
  }
}

/// Answer of the token endpoint (RFC 6749 §5.1, §5.2). Ignores unreadable parts.
struct GrantedToken {
  private(set) var token: String?
  private(set) var lifetime = Duration.seconds(3600)
  private(set) var error: String?

  init(_ body: [UInt8]) {
    var reader = JSONReader(body, .lenient)
    do {
      _ = try reader.optionalObject { name, value in
        switch name {
        case "access_token":
          let text = try value.optionalString()
          token = text.flatMap { $0.isVisibleASCII(atMost: 2048) ? $0 : nil }
        case "expires_in":
          lifetime = .seconds(min(max(try value.optionalInteger() ?? 3600, 0), 7200))
        case "error":
          let text = try value.optionalString()
          error = text.flatMap { $0.isVisibleASCII(atMost: 64) ? $0 : nil }
        default: try value.skip()
        }
      }
    } catch {
      // The token of a broken answer may be incomplete.
      token = nil
    }
  }
}
