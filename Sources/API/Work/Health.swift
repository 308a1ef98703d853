import Base
import HTTP
import Store

/// `GET /health`: whether the site can do its work now, which takes the database, and when the
/// companion ended its last pass.
func getHealth(_ request: Request, in context: borrowing Context) throws -> Response {
  let companion = try context.database.companionStatus()
  return .json { json in
    json.member("status", "ok")
    json.member("database", "ok")
    json.member("last_poll", companion?.lastPassAt.rfc3339)
  }
}
