package import Base

extension Job.Kind {
  /// Sends a ``DemoPush``; its result is a ``DemoPushOutcome``.
  package static let demoPush = Job.Kind("push_test", worker: .pushTests)
}

/// The request of a job of the kind ``Job/Kind/demoPush``. The companion does not trust it: it sends only to tokens that
/// the account has then, and only what ``DemoPushMessage`` allows.
package struct DemoPush: JSONStored, Sendable, Equatable {
  package static let maximumTokens = 500

  package let accountID: String
  /// In the order of the results.
  package let tokens: [String]
  /// Whether the request names the token. Then the test is sent even if the device's preferences
  /// switch pushes off, to show whether the token works.
  package let isNamed: Bool
  package let message: DemoPushMessage

  package init(accountID: String, tokens: [String], isNamed: Bool, message: DemoPushMessage) {
    self.accountID = accountID
    self.tokens = tokens
    self.isNamed = isNamed
    self.message = message
  }

  package func write(to object: inout JSONWriter) {
    object.member("accountID", accountID)
    object.member("tokens", json: JSONWriter.array(of: tokens))
    object.member("isNamed", isNamed)
    object.member("message", object: message.write)
  }
}

/// A token for a test, as the database has it.
package struct PushTarget: Sendable, Equatable {
  package let token: String
  package let platform: PushPlatform
  package let registeredAt: Timestamp
  /// Whether the device's preferences allow pushes, or the token is named.
  package let isEnabled: Bool
  /// The app that registered it; nil if the app did not name itself.
  package let bundleID: String?

  package init(
    token: String, platform: PushPlatform, registeredAt: Timestamp, isEnabled: Bool,
    bundleID: String? = nil
  ) {
    self.token = token
    self.platform = platform
    self.registeredAt = registeredAt
    self.isEnabled = isEnabled
    self.bundleID = bundleID
  }
}

/// The result of a ``DemoPush``.
package struct DemoPushOutcome: JSONStored, Sendable, Equatable {
  package struct TokenResult: Decodable, Sendable, Equatable {
    package let ok: Bool
    /// Apple's status; 0 if Apple has not answered or was not asked.
    package let status: Int64
    package let token: String
    /// `apns-id`; nil if Apple was not asked.
    package let apnsId: String?
    /// Apple's reason or ours; nil if Apple gave none.
    package let reason: String?

    package init(ok: Bool, status: Int64, token: String, apnsId: String?, reason: String?) {
      self.ok = ok
      self.status = status
      self.token = token
      self.apnsId = apnsId
      self.reason = reason
    }
  }

  /// The missing variables because of which nothing was sent; normally none.
  package let missing: [String]
  /// The most requests that were in flight at once.
  package let concurrency: Int64
  package let staleTokensRemoved: Int64
  /// In the order of the targets.
  package let results: [TokenResult]

  package init(
    missing: [String] = [], concurrency: Int = 0, staleTokensRemoved: Int = 0,
    results: [TokenResult] = []
  ) {
    self.missing = missing
    self.concurrency = Int64(concurrency)
    self.staleTokensRemoved = Int64(staleTokensRemoved)
    self.results = results
  }

  package func write(to object: inout JSONWriter) {
    object.member("missing", json: JSONWriter.array(of: missing))
    object.member("concurrency", concurrency)
    object.member("staleTokensRemoved", staleTokensRemoved)
    object.member(
      "results",
      array: { array in
        for result in results {
          array.object { json in
            json.member("ok", result.ok)
            json.member("status", result.status)
            json.member("token", result.token)
            json.member("apnsId", result.apnsId)
            json.member("reason", result.reason)
          }
        }
      })
  }
}
