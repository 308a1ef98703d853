import HTTP
import Store

/// A request that the application is answering.
struct RunningRequest {
  let application: Application
  let request: Request
  /// The request's routes; nil for an unknown or ambiguous path.
  let match: Router.Match?
  let records: Records

  var context: Context {
    Context(application: application, pathItem: match?.pathItem ?? "", records: records)
  }
}
