package import Base
import HTTP
package import Store

/// What a handler may use: it lives as long as the request.
package struct Context: ~Copyable {
  let application: Application
  /// What stands in the path where the route has `:name`.
  let pathItem: String
  /// The database at the request's time, which is read once.
  package let records: Records

  init(application: Application, pathItem: String, records: Records) {
    self.application = application
    self.pathItem = pathItem
    self.records = records
  }

  package var now: Timestamp { records.now }
  var origin: Origin { records.origin }
  var settings: Settings { application.settings }

  /// How long a request waits for the companion.
  var waitLimit: Duration { application.waitLimit }

  /// Whether the request may wait; another thread may then run in place of this one.
  func beginWaiting() -> Bool { application.beginWaiting() }

  /// The only source of tokens.
  func random(_ count: Int) -> [UInt8] { application.random(count) }
}
