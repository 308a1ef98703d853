import Base
import HTTP
import Store

/// `GET /health`: whether the database answers, and when the companion ended its last pass.
func getHealth(_ request: Request, in context: borrowing Context) throws -> Response {
  let companion = try context.records.upkeep.companionStatus()
  return .json { json in
    json.member("status", "ok")
    json.member("database", "ok")
    json.member("last_poll", companion?.lastPassAt.rfc3339)
  }
}
