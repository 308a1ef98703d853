import Base
import HTTP
import Testing

@testable import API

/// `GET /openapi.json` and `GET /docs`
@Suite struct APIDescriptionTests {
  private var document: JSONValue { DescribedAnswers.ofTests.document }

  @Test func everyRouteIsDescribed() {
    for family in Family.all {
      for route in family.routes {
        let operation = document["paths", route.templatePath, route.method.lowercased()]
        #expect(operation?["tags"]?.elements.first?.string == family.name, "\(route.path)")
        #expect(operation?["summary"]?.string?.hasSuffix(".") == true, "\(route.path)")
      }
    }
  }

  @Test func operationsHaveDifferentNames() {
    let names = document["paths"]!.members.flatMap(\.value.members)
      .compactMap { $0.value["operationId"]?.string }
    #expect(names.count >= Family.all.flatMap(\.routes).count)
    #expect(Set(names).count == names.count)
  }

  @Test func everyItemOfAPathIsDescribed() {
    for (path, methods) in document["paths"]!.members where path.contains("{") {
      for method in methods.members {
        let places = method.value["parameters"]?.elements.compactMap { $0["in"]?.string } ?? []
        #expect(places.contains("path"), "\(method.name) \(path)")
      }
    }
  }

  @Test func everyReferenceHasATarget() {
    func references(in value: JSONValue) -> [JSONValue] {
      (value["$ref"] == nil ? [] : [value]) + value.elements.flatMap(references)
        + value.members.map(\.value).flatMap(references)
    }
    let all = references(in: document)
    #expect(all.count > 500)
    for reference in all { #expect(document.referenced(by: reference) != nil, "\(reference)") }
  }

  @Test func clientsKeepTheDescription() throws {
    try withApplication { site in
      let answer = site.send("GET", "/openapi.json")
      #expect(answer.status == 200)
      #expect(answer["openapi"] as? String == "3.1.1")
      #expect(answer["servers", 0, "url"] as? String == TestApplication.publicURL)
      let tag = try #require(answer.field("ETag"))
      let again = site.send("GET", "/openapi.json", fields: [("If-None-Match", tag)])
      #expect(again.status == 304)
      #expect(again.response.body.isEmpty)
    }
  }

  @Test func thePageShowsEveryOperationWithoutAScript() throws {
    try withApplication { site in
      let answer = site.send("GET", "/docs")
      #expect(answer.status == 200)
      #expect(answer.field("Content-Security-Policy")?.contains("script-src") == false)
      #expect(!answer.text.contains("<script"))
      for route in Family.all.flatMap(\.routes) {
        #expect(answer.text.contains("<h3>\(route.method) <code>\(route.templatePath)</code></h3>"))
      }
    }
  }

  /// A difference of each kind is found.
  @Test(arguments: [
    (Response(status: 418), "the status is not listed"),
    (Response.json(200) { $0.member("success", true) }, "the field X-Request-Id is missing"),
    (Response.json(200) { $0.member("devices", true) }, "body.devices: true against type"),
    (Response.json(200) { _ in }, #"body: misses ["devices"]"#),
    (
      Response.json(200) { json in
        json.member("devices", array: { _ in })
        json.member("extra", 1)
      }, "body.extra: not described"
    ),
    (
      Response(status: 200, fields: [("Content-Type", "text/html")]),
      "the content is of type text/html"
    ),
    (Response.json(401) { $0.member("error", "else") }, #"against enum ["unauthorized"]"#),
  ])
  func differencesAreFound(response: Response, problem: String) {
    let request = Request(path: "/api/mobile/devices")
    let problems = DescribedAnswers.ofTests.problems(of: response, to: request)
    #expect(problems.contains { $0.contains(problem) }, "\(problems)")
  }
}
