import Base
package import Delivery
import Store

/// State of the site for administrators: problems and advice.
package struct StatusReport: CommandAnswer, Sendable {
  private let health: Health
  private let channels: ConfiguredChannels

  /// Whether there are no problems.
  package var isWell: Bool { health.status == .ok }

  init(_ health: Health, _ channels: ConfiguredChannels) {
    self.health = health
    self.channels = channels
  }

  /// A paragraph for each problem, and the channels for notifications.
  package var text: String {
    ([summary] + health.problems.map(Self.paragraph)
      + [lastPass, missing, "\n\(channels.text)"].compactMap { $0 })
      .joined(separator: "\n")
  }

  private var summary: String {
    switch (health.status, health.problems.count) {
    case (.ok, _): "All is well."
    case (.down, _): "The site cannot answer requests."
    case (.degraded, _) where health.problems.contains { $0.name == .site }:
      "The site does not answer requests."
    case (.degraded, 1): "The site answers requests, but one thing fails."
    case (.degraded, let count): "The site answers requests, but \(count) things fail."
    }
  }

  private static func paragraph(_ problem: Problem) -> String {
    let place = problem.host.isEmpty ? "" : ", on \(problem.host)"
    let since = problem.since.map { ", since \($0.rfc3339)" } ?? ""
    return """

      \(problem.name.rawValue)\(since)\(place)
        \(problem.reason)
        \(problem.name.advice)
      """
  }

  private var lastPass: String? {
    health.companion.map {
      "\nThe last pass ended \($0.age.components.seconds) seconds ago, on \($0.host), by version \($0.version)."
    }
  }

  private var missing: String? {
    guard let names = health.companion?.missing, !names.isEmpty else { return nil }
    return
      "Not set, so something is left out: \(names.joined(separator: " ")). This is not a problem if you intend it."
  }

  /// The same as one JSON object.
  package var json: [UInt8] {
    JSONWriter.object { json in
      json.member("status", health.status.rawValue)
      json.member("database", health.database.rawValue)
      json.member("last_pass", health.companion?.lastPassAt.rfc3339)
      json.member("host", health.companion?.host)
      json.member("version", health.companion?.version)
      json.member(
        "missing",
        array: { array in
          for name in health.companion?.missing ?? [] { array.string(name) }
        })
      json.member("channels", json: channels.json)
      json.member(
        "problems",
        array: { array in
          for problem in health.problems {
            array.object { json in
              json.member("name", problem.name.rawValue)
              json.member("subject", problem.subject)
              json.member("host", problem.host)
              json.member("since", problem.since?.rfc3339)
              json.member("reason", problem.reason)
              json.member("advice", problem.name.advice)
            }
          }
        })
    }
  }
}

extension Companion {
  /// The present state of the site.
  ///
  /// - Throws: ``SchemaMismatch``; the database's error if it answers with one.
  package func statusReport() throws -> StatusReport {
    StatusReport(try health(), ConfiguredChannels(settings))
  }

  private func health() throws -> Health {
    do {
      try database.requireSchemaVersion()
    } catch {
      // Returns at once, so that a database that does not answer is waited for only once.
      if let health = Health(without: error) { return health }
      throw error
    }
    return try database.records(at: .now(), from: .companion).health()
  }
}
