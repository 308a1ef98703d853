import Base
import HTTP
import Synchronization

/// `GET /openapi.json`: describes all endpoints for programs (OpenAPI 3.1).
func getAPIDescription(_ request: Request, in context: borrowing Context) -> Response {
  context.application.docs.description.answer(to: request)
}

/// `GET /docs`: shows the same for people.
func getAPIPage(_ request: Request, in context: borrowing Context) -> Response {
  context.application.docs.page.answer(to: request)
}

/// The description of the API in both forms. Each is made for the first request for it, and kept.
final class APIDocs: Sendable {
  private let families: [Family]
  private let settings: Settings
  private let madeDescription = Mutex<TaggedResponse?>(nil)
  private let madePage = Mutex<TaggedResponse?>(nil)

  init(of families: [Family], in settings: Settings) {
    self.families = families
    self.settings = settings
  }

  var description: TaggedResponse {
    kept(in: madeDescription) {
      Response(
        status: 200, fields: [("Content-Type", "application/json")],
        body: APIDescription(of: families, in: settings).json.text)
    }
  }

  var page: TaggedResponse {
    kept(in: madePage) {
      let content = APIDocsPage(families: families, publicURL: settings.publicURL).content
      return Page(language: .english, title: "Switchboard API", content: content).response()
    }
  }

  private func kept(
    in made: borrowing Mutex<TaggedResponse?>, making make: () -> Response
  ) -> TaggedResponse {
    made.withLock { made in
      if let made { return made }
      var response = make()
      response.fields.append(("Cache-Control", "public, max-age=300"))
      let tagged = TaggedResponse(response)
      made = tagged
      return tagged
    }
  }
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
