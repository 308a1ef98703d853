import Base
import Cryptography
import Store
import Synchronization

/// Sends messages to browsers by their push services (RFC 8030), over connections that are kept. Used by one thread.
struct WebPushSender: ~Copyable {
  /// What one message is.
  struct Message: Sendable {
    let token: String
    /// As the responder sealed it; nil: there is none.
    let sealed: String?
    /// JSON
    let payload: [UInt8]
    /// Messages with the same one replace each other while the browser is away; nil: none.
    let collapseID: String?
    /// Seconds that the service keeps it.
    let lifetime: Int64
  }

  private let settings: WebPushSettings
  private let keys: CompanionKeys
  private let client: HTTPClient
  private let limits: HTTPClient.Limits
  private let silent: SilentOrigins

  /// The age of the VAPID token of a message at its end; services take at most 24 hours.
  private static let tokenLifetime = Duration.seconds(12 * 3600)

  /// - Parameter silent: those of the run.
  init(
    _ settings: WebPushSettings, keys: CompanionKeys, limits: HTTPClient.Limits,
    silent: SilentOrigins = SilentOrigins()
  ) {
    self.settings = settings
    self.keys = keys
    self.limits = limits
    self.silent = silent
    client = HTTPClient(
      userAgent: "switchboard/\(Product.version)", trusting: settings.certificatesFile)
  }

  func send(_ message: Message) -> WebPushOutcome {
    let opened: (endpoint: Destination, keys: WebPushKeys)
    switch open(message) {
    case .success(let found): opened = found
    case .failure(let why): return .unusable(why)
    }
    guard message.payload.count <= WebPushKeys.maximumContentSize else { return .tooLarge }
    let origin = opened.endpoint.url.origin
    guard !silent.contains(origin) else { return .postponed }
    do {
      let body = try opened.keys.encrypt(message.payload)
      let authorization = try settings.vapid.authorization(
        for: origin, expiresAt: Timestamp.now() + Self.tokenLifetime)
      let answer = try client.post(
        body, to: opened.endpoint,
        fields: fields(of: message) + ["Authorization: \(authorization)"], limits: limits)
      return (200...299).contains(answer.status)
        ? .accepted(status: answer.status)
        : .refused(status: answer.status, retryAfter: answer.retryAfter)
    } catch is HTTPError {
      silent.insert(origin)
      return .unanswered
    } catch {
      return .unusable(.malformed)  // the browser's key; ours was used before
    }
  }

  /// The row is not trusted: the host must be one that the settings allow, and its address one of the rule's.
  private func open(
    _ message: Message
  ) -> Result<(endpoint: Destination, keys: WebPushKeys), WebPushOutcome.Unusable> {
    guard let sealed = message.sealed else { return .failure(.missing) }
    let bytes: [UInt8]
    do throws(CryptographyError) {
      bytes = try keys.open(
        sealed, authenticating: WebSubscription.sealingContext(of: message.token))
    } catch {
      return .failure(.unopenable)
    }
    // try?: whatever is wrong with the subscription, it is malformed.
    guard let subscription = try? Job.decode(WebSubscription.self, from: bytes),
      subscription.token.text == message.token,
      let point = base64URLDecoded(subscription.publicKey),
      let secret = base64URLDecoded(subscription.authentication),
      let keys = try? WebPushKeys(point: point, authentication: secret)
    else { return .failure(.malformed) }
    guard settings.services.allow(subscription.endpoint),
      let endpoint = Destination(ForeignURL(subscription.endpoint), under: settings.outbound)
    else { return .failure(.foreignHost) }
    return .success((endpoint, keys))
  }

  private func fields(of message: Message) -> [String] {
    let fields = [
      "TTL: \(max(message.lifetime, 0))", "Urgency: high", "Content-Encoding: aes128gcm",
      "Content-Type: application/octet-stream",
    ]
    // At most 32 characters of base64url (RFC 8030 §5.4).
    let topic = message.collapseID.map { base64URLEncoded(sha256($0)).prefix(32) }
    return fields + (topic.map { ["Topic: \($0)"] } ?? [])
  }
}

extension WebPushOutcome.Unusable: Error {}

/// Origins that have not answered in a run: they would keep the messages to others waiting.
final class SilentOrigins: Sendable {
  private let origins = Mutex<Set<String>>([])

  func contains(_ origin: String) -> Bool { origins.withLock { $0.contains(origin) } }
  func insert(_ origin: String) { origins.withLock { _ = $0.insert(origin) } }
}
