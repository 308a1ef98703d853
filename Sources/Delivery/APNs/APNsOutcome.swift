package import Base
import Store

/// What became of a notification that was handed to Apple.
package enum APNsOutcome: Sendable, Equatable {
  /// Apple has it, under this `apns-id`.
  case accepted(apnsID: String)
  /// Apple refused it with this HTTP status.
  case rejected(status: Int, reason: Reason)
  /// Status 410: no app has this token any more. Apple's time is that at which it knew.
  case unregistered(reason: Reason, since: Timestamp?)
  /// No answer: Apple may have it or not.
  case unanswered
  /// Apple does not have it, and says so or never saw it.
  case notProcessed

  /// The word with which Apple refuses. New ones appear, so any text is one.
  package struct Reason: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    // "Handling notification responses from APNs", the words of the table that we tell apart.
    static let badDeviceToken = Reason(rawValue: "BadDeviceToken")
    static let deviceTokenNotForTopic = Reason(rawValue: "DeviceTokenNotForTopic")

    static let badTopic = Reason(rawValue: "BadTopic")
    static let missingTopic = Reason(rawValue: "MissingTopic")
    static let topicDisallowed = Reason(rawValue: "TopicDisallowed")

    static let expiredProviderToken = Reason(rawValue: "ExpiredProviderToken")
    static let tooManyProviderTokenUpdates = Reason(rawValue: "TooManyProviderTokenUpdates")
    static let invalidProviderToken = Reason(rawValue: "InvalidProviderToken")
    static let missingProviderToken = Reason(rawValue: "MissingProviderToken")
    static let badCertificate = Reason(rawValue: "BadCertificate")
    static let badCertificateEnvironment = Reason(rawValue: "BadCertificateEnvironment")
    static let forbidden = Reason(rawValue: "Forbidden")
    static let unrelatedKeyIDInToken = Reason(rawValue: "UnrelatedKeyIdInToken")
    static let badEnvironmentKeyIDInToken = Reason(rawValue: "BadEnvironmentKeyIdInToken")
    static let badEnvironmentKeyInToken = Reason(rawValue: "BadEnvironmentKeyInToken")

    static let badPath = Reason(rawValue: "BadPath")
    static let methodNotAllowed = Reason(rawValue: "MethodNotAllowed")
    static let payloadTooLarge = Reason(rawValue: "PayloadTooLarge")
    static let tooManyRequests = Reason(rawValue: "TooManyRequests")
    static let idleTimeout = Reason(rawValue: "IdleTimeout")
    static let shutdown = Reason(rawValue: "Shutdown")
  }
}

extension APNsOutcome {
  /// The outcome that an answer with this status and body says.
  init(status: Int, body: Span<UInt8>, apnsID: @autoclosure () -> String) {
    if status == 200 {
      self = .accepted(apnsID: apnsID())
      return
    }
    let reason = Reason(rawValue: Self.string(of: "reason", in: body) ?? "")
    self =
      status == 410
      ? .unregistered(
        reason: reason,
        since: Self.integer(of: "timestamp", in: body).map { Timestamp(milliseconds: $0) })
      : .rejected(status: status, reason: reason)
  }

  // Apple's body is one flat object, `{"reason":"…","timestamp":…}`: a scan for the member is enough.

  private static func string(of name: StaticString, in body: Span<UInt8>) -> String? {
    guard var position = value(of: name, in: body), body[position] == UInt8(ascii: "\"") else {
      return nil
    }
    var text: [UInt8] = []
    position += 1
    while position < body.count, text.count < 100 {
      switch body[position] {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case 0x21...0x5B, 0x5D...0x7E: text.append(body[position])
      default: return nil
      }
      position += 1
    }
    return nil
  }

  private static func integer(of name: StaticString, in body: Span<UInt8>) -> Int64? {
    guard var position = value(of: name, in: body) else { return nil }
    var digits = ""
    while position < body.count, (0x30...0x39).contains(body[position]) {
      digits.unicodeScalars.append(Unicode.Scalar(body[position]))
      position += 1
    }
    return Int64(digits)
  }

  /// Where the value of the member `name` begins.
  private static func value(of name: StaticString, in body: Span<UInt8>) -> Int? {
    let key = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    let quote = UInt8(ascii: "\"")
    func skipSpace(_ position: Int) -> Int {
      (position..<body.count).first { ![0x20, 0x09, 0x0A, 0x0D].contains(body[$0]) } ?? body.count
    }
    let last = body.count - key.count - 2
    guard last >= 0 else { return nil }
    for start in 0...last
    where body[start] == quote && body[start + key.count + 1] == quote
      && key.indices.allSatisfy({ body[start + 1 + $0] == key[$0] })
    {
      let colon = skipSpace(start + key.count + 2)
      guard colon < body.count, body[colon] == UInt8(ascii: ":") else { continue }
      let value = skipSpace(colon + 1)
      return value < body.count ? value : nil
    }
    return nil
  }
}
