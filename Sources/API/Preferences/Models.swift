import Base
import Cryptography
import HTTP
import Store

/// `GET /api/v1/models`: returns the catalog of models. Caches may keep it for a day.
func getModels(_ request: Request, in context: borrowing Context) throws -> Response {
  let models = try context.records.models.list(readBy: context.account(of: request))
  var response = Response.json { json in
    json.member("models", array: { array in for model in models { array.string(model) } })
  }
  let tag = "\"\(hexEncoded(Array(sha256(response.body).prefix(16))))\""
  if request.accepts(entityTag: tag) { response = Response(status: 304, fields: [], body: []) }
  response.fields += [("ETag", tag), ("Cache-Control", "public, max-age=86400")]
  return response
}

extension Request {
  /// Whether `If-None-Match` names `tag` or `*` (RFC 9110 §13.1.2).
  fileprivate func accepts(entityTag tag: String) -> Bool {
    fieldValues("If-None-Match").contains { value in
      value.split(separator: ",").contains { candidate in
        let candidate = String(candidate).trimmed
        return candidate == "*" || candidate == tag || candidate == "W/" + tag
      }
    }
  }
}
