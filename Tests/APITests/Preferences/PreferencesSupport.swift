import Foundation
import Testing

@testable import API

/// The time of a ``TestApplication`` before any advance.
let startOfTests = "2026-11-18T11:06:40Z"

extension TestApplication {
  func preferences(of who: SignedIn, fields: [(name: String, value: String)] = []) -> Answer {
    send("GET", "/api/v1/device-prefs", token: who.accessToken, fields: fields)
  }

  @discardableResult
  func post(
    _ json: String, by who: SignedIn, fields: [(name: String, value: String)] = []
  ) -> Answer {
    send("POST", "/api/v1/device-prefs", json, token: who.accessToken, fields: fields)
  }

  @discardableResult
  func register(_ token: String, platform: String = "ios", by who: SignedIn) -> Answer {
    send(
      "POST", "/api/v1/push/register", #"{"platform":"\#(platform)","token":"\#(token)"}"#,
      token: who.accessToken)
  }

  /// `who` with new tokens, for tests that last longer than an access token.
  func refreshed(_ who: SignedIn) throws -> SignedIn {
    let answer = send(
      "POST", "/api/mobile/auth/token/refresh", #"{"refreshToken":"\#(who.refreshToken)"}"#)
    try #require(answer.status == 200, "\(answer.text)")
    return SignedIn(
      email: who.email, deviceID: who.deviceID, accountID: who.accountID,
      accessToken: try #require(answer.string("accessToken")),
      refreshToken: try #require(answer.string("refreshToken")))
  }

  /// The number of rows of the audit log with `event`.
  func audited(_ event: String) -> Int {
    Int(sql("SELECT COUNT(*) FROM audit_log WHERE event = '\(event)'")) ?? -1
  }

  /// The hits of the limit `name` in its window.
  func hits(_ name: String) -> String {
    sql("SELECT hits FROM rate_limits WHERE name = '\(name)'")
  }

  /// The server's id of the only device.
  var onlyDevice: String { sql("SELECT id FROM devices") }
}

extension Answer {
  var version: Int? { self["version"] as? Int }
  var models: [String]? { self["preferred_models"] as? [String] }
  var quota: Int? { self["archive_cache_quota_mb"] as? Int }
}

/// `names` as a JSON array.
func jsonArray(_ names: [String]) -> String {
  let bytes = try! JSONSerialization.data(withJSONObject: names)
  return String(decoding: bytes, as: UTF8.self)
}
