import Base
import Glibc
import Store

/// Answer of the site to a request for its health.
struct SiteAnswer {
  /// nil if there is no answer.
  private let status: Int?
  /// The first problem in the responder's answer, or the reason why there is no answer.
  private let reason: String?
  /// False if this host does not trust the site's certificate. The site is asked even then, because
  /// the request holds no secret.
  let isTrusted: Bool
  /// Whether the site took the request, under its public name, for one of this machine.
  let isSeenAsThisMachine: Bool
  /// The address to which the request was sent; nil if unknown.
  let address: String?

  var isAnswered: Bool { status != nil }

  /// - Parameters:
  ///   - triesFor: time to retry, because the web server may just be starting.
  ///   - stopping: ends the requests within a second when it is set; then there may be no answer.
  init(
    at url: String, triesFor: Duration = .seconds(3), stopping: Flag? = nil,
    clock: LimitClock = .system
  ) {
    let end = clock.now() + triesFor
    var answer = SiteAnswer(askedOnce: url, stopping, clock)
    while !answer.isAnswered, clock.now() < end, stopping?.isSet != true {
      clock.sleep(.milliseconds(500))
      answer = SiteAnswer(askedOnce: url, stopping, clock)
    }
    self = answer
  }

  private init(askedOnce url: String, _ stopping: Flag?, _ clock: LimitClock) {
    let verified = Self.ask(url, verifying: true, stopping, clock)
    isTrusted = !Self.isUntrusted(verified)
    switch isTrusted ? verified : Self.ask(url, verifying: false, stopping, clock) {
    case .success(let seen):
      status = seen.answer.status
      reason = Self.reason(in: seen.answer.body)
      isSeenAsThisMachine = seen.sender == Health.thisMachine
      address = seen.address
    case .failure(let error):
      status = nil
      reason = error.reason
      isSeenAsThisMachine = false
      address = nil
    }
  }

  /// An answer, the value of ``Health/senderField``, and the address that gave it.
  private typealias Seen = (answer: HTTPAnswer, sender: String?, address: String?)

  private static func ask(
    _ url: String, verifying: Bool, _ stopping: Flag?, _ clock: LimitClock
  ) -> Result<Seen, HTTPError> {
    let client = HTTPClient(
      userAgent: "Switchboard/\(Product.version)", verifiesServers: verifying, clock: clock)
    // Longer than the web server waits for the responder.
    let limits = HTTPClient.Limits(
      connecting: .seconds(3), total: .seconds(20), body: 1 << 16, stopping: stopping)
    do throws(HTTPError) {
      let answer = try client.get(.configured("\(url)/health"), entityTag: nil, limits: limits)
      return .success((answer, client.field(Health.senderField), client.address))
    } catch {
      return .failure(error)
    }
  }

  private static func isUntrusted(_ result: Result<Seen, HTTPError>) -> Bool {
    if case .failure(let error) = result { error.isUntrusted } else { false }
  }

  /// Reason why the site serves no requests; nil if the responder works.
  var problem: String? {
    switch status {
    case nil: "The site does not answer at its address: \(reason ?? "")."
    case 502, 504: "The web server gets no answer from the responder: it answers \(status!)."
    case .some(500...):
      "The responder answers \(status!) when it is asked for its health. \(reason ?? "")"
    default: nil
    }
  }

  /// Reason why strangers may pair phones; nil if nothing shows that they may. A request to an address of this machine shows
  /// nothing: the name may lead there from this machine alone.
  static func pairingProblem(isSeenAsThisMachine: Bool, at address: String?) -> String? {
    guard isSeenAsThisMachine, let address, !IPNetwork.isLocal(address) else { return nil }
    return
      "A proxy in front of the site hides its clients, so everybody can open /pair: have it send X-Forwarded-For, and "
      + "name it in SWITCHBOARD_TRUSTED_PROXIES."
  }

  var pairingProblem: String? {
    Self.pairingProblem(isSeenAsThisMachine: isSeenAsThisMachine, at: address)
  }

  private static func reason(in json: [UInt8]) -> String? {
    var reason: String?
    var reader = JSONReader(json, .lenient)
    do {
      _ = try reader.optionalObject { name, value in
        guard name == "problems" else { return try value.skip() }
        try value.array { problem in
          try problem.object { name, value in
            guard name == "reason", reason == nil else { return try value.skip() }
            reason = try value.string()
          }
        }
      }
    } catch {
      // An error page of a web server is not JSON.
    }
    return reason
  }
}
