import Base
import HTTP
import Store

/// `GET /api/v1/models`: returns the catalog of models. Caches may keep it for a day.
func getModels(_ request: Request, in context: borrowing Context) throws -> Response {
  let models = try context.records.models.list(readBy: context.account(of: request))
  var response = Response.json { json in
    json.member("models", array: { array in for model in models { array.string(model) } })
  }
  response.fields.append(("Cache-Control", "public, max-age=86400"))
  return TaggedResponse(response).answer(to: request)
}

extension Endpoint {
  static var getModels: Endpoint {
    Endpoint(API.getModels) {
      Operation(
        "Returns the catalog of models. Caches may keep it for a day.",
        Access(alternatives: [[], [.accessToken]], errors: []), fields: [.ifNoneMatch],
        answers: .json(["models": .array(of: .string)], fields: ["ETag"]), .notModified,
        limits: [.modelsReads])
    }
  }
}
