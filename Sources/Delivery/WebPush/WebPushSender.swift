import Base
import Cryptography
import Store
import Synchronization

/// Sends messages to browsers through their push services (RFC 8030), over kept connections. Used
/// by one thread.
struct WebPushSender: ~Copyable {
  /// Message to one browser.
  struct Message: Sendable {
    let token: String
    /// Subscription, sealed by the responder; nil if there is none.
    let sealed: String?
    /// JSON text, the same as for Apple's devices.
    let payload: [UInt8]
    /// A message replaces earlier ones with the same id while the browser is offline; nil for no id.
    let collapseID: String?
    /// Seconds for which the service keeps the message.
    let lifetime: Int64
  }

  private let settings: WebPushSettings
  private let keys: CompanionKeys
  private let client: HTTPClient
  private let limits: HTTPClient.Limits
  private let silent: SilentOrigins

  /// Lifetime of a message's VAPID token; services accept at most 24 hours.
  private static let tokenLifetime = Duration.seconds(12 * 3600)

  /// - Parameter silent: the silent origins of the run.
  init(
    _ settings: WebPushSettings, keys: CompanionKeys, limits: HTTPClient.Limits,
    silent: SilentOrigins = SilentOrigins(), clock: LimitClock
  ) {
    self.settings = settings
    self.keys = keys
    self.limits = limits
    self.silent = silent
    client = HTTPClient(
      userAgent: "switchboard/\(Product.version)", trusting: settings.certificatesFile,
      clock: clock)
  }

  /// Sends a message.
  ///
  /// - Returns: the outcome, and the origin of the push service; no origin if the subscription is
  ///   unusable.
  func send(_ message: Message) -> (outcome: WebPushOutcome, origin: String?) {
    switch open(message) {
    case .success(let opened):
      let origin = opened.endpoint.url.origin
      return (send(message, to: opened.endpoint, at: origin, opened.keys), origin)
    case .failure(let why): return (.unusable(why), nil)
    }
  }

  private func send(
    _ message: Message, to endpoint: Destination, at origin: String, _ keys: WebPushKeys
  ) -> WebPushOutcome {
    guard message.payload.count <= WebPushKeys.maximumContentSize else { return .tooLarge }
    guard !silent.contains(origin) else { return .postponed }
    do {
      let body = try keys.encrypt(message.payload)
      let authorization = try settings.vapid.authorization(
        for: origin, expiresAt: Timestamp.now() + Self.tokenLifetime)
      let answer = try client.post(
        body, to: endpoint,
        fields: fields(of: message) + ["Authorization: \(authorization)"], limits: limits)
      return (200...299).contains(answer.status)
        ? .accepted(status: answer.status)
        : .refused(status: answer.status, retryAfter: answer.retryAfter)
    } catch is HTTPError {
      silent.insert(origin)
      return .unanswered
    } catch {
      return .unusable(.malformed)  // the browser's key is wrong; ours was used before
    }
  }

  /// Opens the subscription. The row is not trusted, so the settings must allow the host, and the
  /// rule must admit its address.
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
    // try?: every error means that the subscription is malformed.
    guard let subscription = try? decoded(WebSubscription.self, from: bytes),
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

/// Origins that did not answer in a run. They are skipped, because they would delay messages to
/// others.
final class SilentOrigins: Sendable {
  private let origins = Mutex<Set<String>>([])

  func contains(_ origin: String) -> Bool { origins.withLock { $0.contains(origin) } }
  func insert(_ origin: String) { origins.withLock { _ = $0.insert(origin) } }
}
