import Base
import HTTP
import Store

/// `GET /health`: whether the database can be read and written, when the companion ended its last pass, and what fails.
func getHealth(_ request: Request, in context: borrowing Context) throws -> Response {
  let health = try context.records.health()
  var response = Response.json { json in
    if health.status == .down { json.member("error", "Temporarily unavailable") }
    json.member("status", health.status.rawValue)
    json.member("database", health.database.rawValue)
    json.member("last_poll", health.companion?.lastPassAt.rfc3339)
    json.member("problems", array: { array in array.problems(health.problems) })
  }
  if health.status == .down {
    response.status = 503
    response.fields.append(("Retry-After", "2"))
  }
  return response
}

extension JSONWriter {
  /// What fails, without the host that found it. Several hosts may find the same. Which secret is open to whoever has an
  /// account on the host is for administrators alone.
  fileprivate mutating func problems(_ problems: [Condition]) {
    var told: Set<String> = []
    for problem in problems where told.insert("\(problem.name) \(problem.reason)").inserted {
      object { json in
        json.member("name", problem.name.rawValue)
        json.member(
          "reason", problem.name == .secrets ? problem.name.meaning : problem.reason)
      }
    }
  }
}
