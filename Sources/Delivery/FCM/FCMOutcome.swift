import Base
import Store

/// Outcome of a message that was sent to FCM.
enum FCMOutcome: Sendable, Equatable {
  /// FCM has the message, under this name.
  case accepted(name: String)
  case refused(FCMRefusal)
  /// No answer: FCM may or may not have the message.
  case unanswered(String)
}

/// Refusal by FCM (`google.rpc.Status` with `FcmError`).
struct FCMRefusal: Sendable, Equatable {
  let status: Int
  /// FCM's `errorCode`, or else Google's `status`.
  let code: String
  /// Whether the token itself is malformed.
  let isOfToken: Bool
  let retryAfter: Duration?

  init(status: Int, code: String, isOfToken: Bool = false, retryAfter: Duration? = nil) {
    self.status = status
    self.code = code
    self.isOfToken = isOfToken
    self.retryAfter = retryAfter
  }
}

/// Next step after an outcome ("FCM error codes", "Best practices when sending FCM messages at
/// scale").
enum FCMAction: Sendable, Equatable {
  case done
  /// Delete the dead token.
  case removeToken
  /// The token belongs to another project or is malformed. If this happens to many tokens, our
  /// project is wrong, and no token is deleted.
  case markMismatch
  /// Get a new access token, then retry once.
  case renewAccessToken
  /// Retry after this time.
  case retry(after: Duration)
  /// Give up and tell an administrator: FCM will never accept this message.
  case deadLetter
  /// Stop sending, report a problem and keep the deliveries: our account or project is wrong.
  case stop
}

extension FCMOutcome {
  /// - Parameter attempts: how often the message was sent, including this time.
  func action(attempts: Int) -> FCMAction {
    switch self {
    case .accepted: .done
    case .unanswered: .retry(after: Self.delay(after: attempts, atLeast: nil))
    case .refused(let refusal):
      switch (refusal.status, refusal.code) {
      case (404, "UNREGISTERED"): .removeToken
      case (403, "SENDER_ID_MISMATCH"): .markMismatch
      case (400, _) where refusal.isOfToken: .markMismatch
      case (401, "THIRD_PARTY_AUTH_ERROR"): .deadLetter
      case (401, _): .renewAccessToken
      case (403, _), (404, _): .stop
      case (429, _), (500..., _):
        .retry(after: Self.delay(after: attempts, atLeast: refusal.retryAfter))
      default: .deadLetter
      }
    }
  }

  /// Delay by Google's advice: at least `Retry-After` or one minute, doubled after each attempt.
  private static func delay(after attempts: Int, atLeast least: Duration?) -> Duration {
    max(least ?? .zero, .seconds(60) * (1 << min(max(attempts, 1) - 1, 4)))
  }

  /// The outcome of an answer.
  init(_ answer: HTTPAnswer) {
    let body = FCMAnswer(answer.body)
    self =
      answer.status == 200
      ? .accepted(name: body.name)
      : .refused(
        FCMRefusal(
          status: answer.status, code: body.code, isOfToken: body.isOfToken,
          retryAfter: answer.retryAfter))
  }

  var status: Int64? {
    switch self {
    case .accepted: 200
    case .refused(let refusal): Int64(refusal.status)
    case .unanswered: nil
    }
  }

  var reason: String {
    switch self {
    case .accepted: ""
    case .refused(let refusal): refusal.code
    case .unanswered: "no answer"
    }
  }
}

/// `{"name":…}`, or `{"error":{"status":…,"details":[{"errorCode":…}]}}`. Ignores unreadable parts.
private struct FCMAnswer {
  private(set) var name = ""
  private(set) var isOfToken = false
  private var status = ""
  private var errorCode: String?

  var code: String { errorCode ?? status }

  init(_ body: [UInt8]) {
    var reader = JSONReader(body, .lenient)
    do {
      _ = try reader.optionalObject { member, value in
        switch member {
        case "name": name = try Self.word(&value)
        case "error": _ = try value.optionalObject { try readError($0, &$1) }
        default: try value.skip()
        }
      }
    } catch {
      // Members before the syntax error still count.
    }
  }

  private mutating func readError(_ member: String, _ value: inout JSONReader) throws {
    switch member {
    case "status": status = try Self.word(&value)
    case "details":
      _ = try value.optionalArray { detail in
        _ = try detail.optionalObject { member, value in
          switch member {
          case "errorCode": errorCode = try Self.word(&value)
          case "fieldViolations": try readViolations(&value)
          default: try value.skip()
          }
        }
      }
    default: try value.skip()
    }
  }

  private mutating func readViolations(_ value: inout JSONReader) throws {
    _ = try value.optionalArray { violation in
      _ = try violation.optionalObject { member, value in
        if member == "field" {
          isOfToken = try value.optionalString() == "message.token" || isOfToken
        } else {
          try value.skip()
        }
      }
    }
  }

  private static func word(_ value: inout JSONReader) throws -> String {
    let text = try value.optionalString(atMost: 200) ?? ""
    return text.isVisibleASCII(atMost: 199) ? text : ""
  }
}
