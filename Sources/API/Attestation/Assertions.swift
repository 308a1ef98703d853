import Base
import Cryptography
import HTTP
import Store

extension Context {
  /// What the app of a write says of itself, and whether it has proved to be genuine. Its assertion is
  /// spent by that.
  ///
  /// - Throws: ``Refusal/attestation(_:)`` where it had to prove it and has not; other ``Refusal``s.
  func judge(_ request: Request, by caller: Caller) throws -> ClientFacts {
    try database.judge(
      request.clientFacts, by: assertion(of: request), of: caller, under: settings.attestation,
      at: now)
  }

  /// Makes the key of a read's assertion that of the caller's device, if it is nobody's yet. A read is
  /// never refused for what is wrong with its assertion.
  func bindKey(of request: Request, to caller: Caller) throws {
    guard settings.attestation.mode != .off, let apps = settings.attestation.apps,
      case .success(let assertion) = assertion(of: request)
    else { return }
    try database.bindKey(of: assertion, to: caller, for: apps, at: now)
  }

  /// What the request sends as proof, or what is wrong with that before any key is looked at; nil where
  /// it sends none.
  private func assertion(
    of request: Request
  ) -> Result<PresentedAssertion, AttestationRefusal>? {
    guard let text = request.field("X-iOS-App-Attest-Assertion") else { return nil }
    return Result { () throws(AttestationRefusal) in
      guard let object = base64Decoded(text) else { throw .malformed }
      let key = request.field("X-iOS-App-Attest-Key").flatMap { base64Decoded($0) }
      guard let key else { throw .unknownKey }
      guard let challenge = request.field("X-Request-Challenge") else { throw .noChallenge }
      guard let clientData = base64Decoded(challenge) else { throw .malformedChallenge }
      try RequestChallenge(clientData)?.check(request, at: settings.publicURL, now)
      return PresentedAssertion(keyID: key, object: object, clientData: clientData)
    }
  }
}

/// What the apps sign with each request: `METHOD:absolute-URL[:key:value,…]:unix-seconds`.
///
/// The values of the body's part are in the words of the app's platform: nobody can make them from the body.
struct RequestChallenge {
  /// How far the phone's clock may be from ours.
  static let tolerance = Duration.seconds(300)

  private let front: ArraySlice<UInt8>
  private let seconds: Double

  /// - Returns: nil where `clientData` are something else. Then the signature alone speaks.
  init?(_ clientData: [UInt8]) {
    guard let colon = clientData.lastIndex(of: UInt8(ascii: ":")) else { return nil }
    front = clientData[..<colon]
    let digits = clientData[(colon + 1)...]
    let isDecimal = digits.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    guard isDecimal, let seconds = Double(String(decoding: digits, as: UTF8.self))
    else { return nil }
    self.seconds = seconds
    let rest = front.drop { (0x41...0x5A).contains($0) }
    guard rest.count < front.count, rest.starts(with: ":http".utf8) else { return nil }
  }

  /// - Throws: ``AttestationRefusal/otherRequest``, ``AttestationRefusal/otherTime``.
  func check(
    _ request: Request, at publicURL: String, _ now: Timestamp
  ) throws(AttestationRefusal) {
    let query = request.query.isEmpty ? "" : "?" + request.query
    let expected = "\(request.method):\(publicURL)\(request.path)\(query)".utf8
    guard front.starts(with: expected) else { throw .otherRequest }
    let rest = front.dropFirst(expected.count)
    guard rest.isEmpty || rest.first == UInt8(ascii: ":") else { throw .otherRequest }
    let distance = abs(seconds * 1000 - Double(now.milliseconds))
    guard distance <= Double(Self.tolerance.milliseconds) else { throw .otherTime }
  }
}

extension Failure {
  /// The field at fault, and why: the app may want to know an assertion that was overtaken from a wrong one.
  static func attestation(_ refusal: AttestationRefusal) -> Failure {
    let field =
      if refusal.code.hasPrefix("challenge_") {
        "X-Request-Challenge"
      } else if refusal.code.hasPrefix("key_") {
        "X-iOS-App-Attest-Key"
      } else {
        "X-iOS-App-Attest-Assertion"
      }
    return Failure(
      status: 403, message: "The app has not proved that it is genuine: \(refusal.code)",
      detail: Detail(field: field, reason: refusal.code, value: nil))
  }
}

extension Request {
  /// What the app says of itself (`X-iOS-…` on devices and simulators, `X-App-…` on the Mac).
  fileprivate var clientFacts: ClientFacts {
    let asserts = field("X-iOS-App-Attest-Assertion") != nil
    let bundleID = field("X-iOS-App-Bundle-ID")
    if asserts || bundleID != nil {
      return ClientFacts(
        platform: "iOS", bundleID: bundleID, appVersion: field("X-iOS-App-Version"),
        attestation: asserts ? .unverified : .none)
    }
    if field("X-iOS-Development") == "simulator" {
      return ClientFacts(
        platform: "iOS simulator", bundleID: field("X-iOS-Bundle-ID"),
        appVersion: field("X-iOS-App-Version"), attestation: .stub)
    }
    if let platform = field("X-Platform") {
      return ClientFacts(
        platform: platform, bundleID: field("X-App-Bundle-ID"),
        appVersion: field("X-App-Version"), attestation: .stub)
    }
    return ClientFacts(platform: nil, bundleID: nil, appVersion: nil, attestation: .none)
  }
}
