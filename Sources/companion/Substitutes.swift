import Base
import Delivery
import ProcessSupport

/// Servers and a clock that the companion uses instead of the real ones, as tests do. A substitute for Apple's
/// first host is in `APNS_ENDPOINT_OVERRIDE`.
struct Substitutes {
  private(set) var otherAPNs: APNsEndpoint?
  /// URLs without a final slash.
  private(set) var fcm: String?
  private(set) var ogs: String?
  /// Clock for limits of time.
  private(set) var clock = LimitClock.system

  /// The entries of `SWITCHBOARD_SUBSTITUTES`: `name=URL` or `slowness=NUMBER`, separated by commas.
  init(from environment: inout Environment) {
    let name = "SWITCHBOARD_SUBSTITUTES"
    let entries = (environment.optional(name) ?? "").split(separator: ",")
    if entries.contains(where: { !add(String($0).trimmed) }) {
      environment.complain(
        about: name,
        "must be a list of fcm=URL, ogs=URL and apns-other=URL, each without a final slash, and slowness=NUMBER, separated by commas; apns-other needs https"
      )
    }
  }

  /// - Returns: false if the entry is malformed.
  private mutating func add(_ entry: String) -> Bool {
    let parts = entry.split(separator: "=", maxSplits: 1).map { String($0) }
    if parts.count == 2, parts[0] == "slowness" {
      guard let slowness = Int(parts[1]), 1...10_000 ~= slowness else { return false }
      clock = .slowed(by: slowness)
      return true
    }
    guard parts.count == 2, WebURL(parts[1])?.isHTTP == true, !parts[1].hasSuffix("/") else {
      return false
    }
    switch parts[0] {
    case "fcm": fcm = parts[1]
    case "ogs": ogs = parts[1]
    case "apns-other":
      otherAPNs = APNsEndpoint(url: parts[1])
      return otherAPNs != nil
    default: return false
    }
    return true
  }
}
