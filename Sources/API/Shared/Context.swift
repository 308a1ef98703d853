package import Base
import HTTP
package import Store

/// The resources of a handler, for the lifetime of one request.
package struct Context: ~Copyable {
  let application: Application
  /// The path segment at the place of the route's `:name`.
  let pathItem: String
  /// The database, with the time of the request, which is read once.
  package let records: Records

  init(application: Application, pathItem: String, records: Records) {
    self.application = application
    self.pathItem = pathItem
    self.records = records
  }

  package var now: Timestamp { records.now }
  var origin: Origin { records.origin }
  var settings: Settings { application.settings }

  /// The wait limit of a request for the companion.
  var waitLimit: Duration { application.waitLimit }

  /// Returns true if the request may wait; another thread may then run instead of this one.
  func beginWaiting() -> Bool { application.beginWaiting() }

  /// Returns random bytes; the only source of tokens.
  func random(_ count: Int) -> [UInt8] { application.random(count) }
}
