import Base

/// What the site answers when it is asked for its health.
struct SiteAnswer {
  private let status: Int
  /// What the responder says of the first thing that fails.
  private var reason: String?

  /// - Returns: nil where the site is not reached from here: it may be reached from elsewhere.
  init?(at url: String) {
    let client = HTTPClient(userAgent: "Switchboard/\(Product.version)")
    // Longer than the web server waits for the responder.
    let limits = HTTPClient.Limits(connecting: .seconds(3), total: .seconds(20), body: 1 << 16)
    do throws(HTTPError) {
      let answer = try client.get(.configured("\(url)/health"), entityTag: nil, limits: limits)
      status = answer.status
      reason = Self.reason(in: answer.body)
    } catch {
      return nil
    }
  }

  /// Why nobody is served; nil where the responder can work.
  var problem: String? {
    switch status {
    case 502, 504: "The web server gets no answer from the responder: it answers \(status)."
    case 500...: "The responder answers \(status) when it is asked for its health. \(reason ?? "")"
    default: nil
    }
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
      // The page of a web server is not JSON.
    }
    return reason
  }
}
