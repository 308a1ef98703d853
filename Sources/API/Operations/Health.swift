import Base
import HTTP
import Store

/// `GET /health`: reports if the database can be read and written, the end of the companion's last pass, and the problems.
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
  if context.isPublicNameFromThisMachine(request) {
    // The companion's check reads it.
    response.fields.append((Health.senderField, Health.thisMachine))
  }
  return response
}

extension JSONWriter {
  /// Writes each problem once, without the host that found it: several hosts may find the same problem. Only administrators
  /// may see which secret other users of the host can read.
  fileprivate mutating func problems(_ problems: [Problem]) {
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

extension Endpoint {
  static var getHealth: Endpoint {
    Endpoint(API.getHealth) {
      Operation(
        "Reports whether the site works, and its problems.",
        answers: .json(.health, meaning: "The site works, perhaps with problems."),
        .json(
          503, .health.orMissing.merging(["error": .string]), meaning: "The site is down.",
          fields: ["Retry-After"]))
    }
  }
}

extension Schema {
  fileprivate static let health: Schema = [
    "status": .words(Health.Status.allCases.map(\.rawValue)),
    "database": .words(Health.DatabaseState.allCases.map(\.rawValue)), "last_poll": .time.orNull,
    "problems": .array(of: ["name": .string, "reason": .string]),
  ]
}
