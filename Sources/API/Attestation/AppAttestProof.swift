import Base
import Cryptography
import HTTP
import Store

extension AppProof {
  /// Apple's App Attest: an assertion in the request's fields.
  static let appAttest = AppProof(
    fields: {
      [
        .init("X-iOS-App-Attest-Assertion", "An assertion by the key of the app.", .base64),
        .init("X-iOS-App-Attest-Key", "The id of the key that `/verify` enrolled.", .base64),
        .init(
          "X-Request-Challenge", "The signed text: `METHOD:URL:seconds` since 1970.", .base64),
      ]
    }, errors: { [.attestation(.noAssertion)] },
    limits: [.attestationRefusals],
    checkWrite: { request, caller, context in
      let outcome = try context.records.assertions.check(
        request.clientFacts, context.assertion(of: request), of: caller,
        under: context.settings.attestation)
      switch outcome {
      case .passed(let facts): return facts
      case .refused(let refusal): throw Failure.attestation(refusal)
      }
    },
    noteRead: { request, caller, context in
      let policy = context.settings.attestation
      guard policy.mode != .off, let apps = policy.apps,
        case .success(let assertion) = context.assertion(of: request)
      else { return }
      try context.records.assertions.bindKey(of: assertion, to: caller, for: apps)
    })
}

extension Context {
  /// The request's proof, or its problem that needs no key to detect; nil without a proof.
  fileprivate func assertion(
    of request: Request
  ) -> Result<PresentedAssertion, AttestationRefusal>? {
    guard let text = request.field("X-iOS-App-Attest-Assertion") else { return nil }
    return Result { () throws(AttestationRefusal) in
      guard let object = base64Decoded(text) else { throw .malformed }
      let key = request.field("X-iOS-App-Attest-Key").flatMap { base64Decoded($0) }
      guard let key else { throw .unknownKey }
      guard let challenge = request.field("X-Request-Challenge") else { throw .noChallenge }
      guard let clientData = base64Decoded(challenge) else { throw .malformedChallenge }
      try RequestChallenge(clientData)?.check(request, at: settings.publicURLs, now)
      return PresentedAssertion(keyID: key, object: object, clientData: clientData)
    }
  }
}

extension Failure {
  /// Names the invalid field and the reason: the app may need to distinguish a wrong assertion from an
  /// assertion that arrived after a newer one.
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
  /// The app's data about itself: `X-iOS-…` on devices and simulators, `X-App-…` on the Mac.
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
