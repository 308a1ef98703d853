import Base
import HTTP

/// `GET /openapi.json`: describes all endpoints for programs (OpenAPI 3.1).
func getAPIDescription(_ request: Request, in context: borrowing Context) -> Response {
  Response(
    status: 200,
    fields: [("Content-Type", "application/json"), ("Cache-Control", "public, max-age=300")],
    body: context.application.apiDocs.json
  ).tagged(for: request)
}

/// `GET /docs`: shows the same for people.
func getAPIPage(_ request: Request, in context: borrowing Context) -> Response {
  var response = Page(
    language: .english, title: "Switchboard API", content: context.application.apiDocs.page
  ).response()
  response.fields.append(("Cache-Control", "public, max-age=300"))
  return response.tagged(for: request)
}

/// The description of the API in both forms.
struct APIDocs {
  let json: [UInt8]
  /// HTML.
  let page: String
}

extension Endpoint {
  static var getAPIDescription: Endpoint {
    Endpoint(API.getAPIDescription) {
      Operation(
        "Describes all endpoints for programs, in OpenAPI 3.1: this document.",
        fields: [.ifNoneMatch],
        answers: .json(
          Schema(types: ["object"]).with("additionalProperties", true), meaning: "The description.",
          fields: ["ETag"]),
        .notModified)
    }
  }

  static var getAPIPage: Endpoint {
    Endpoint(API.getAPIPage) {
      Operation(
        "Shows a page that describes all endpoints.", fields: [.ifNoneMatch],
        answers: .page("The page."), .notModified)
    }
  }
}
