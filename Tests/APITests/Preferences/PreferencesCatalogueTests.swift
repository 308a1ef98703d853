import HTTP
import Testing

@testable import API

/// `GET /api/v1/models`.
@Suite struct PreferencesCatalogueTests {
  private static let path = "/api/v1/models"
  private static let cacheable = "public, max-age=86400"

  @Test func theCatalogueHasTheModelsOfTheContractInOrder() throws {
    try withApplication { site in
      let answer = site.send("GET", Self.path)
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"models":["gpt-4o-mini","claude-3.5-sonnet","gpt-4o","mistral-nemo"]}"#)
      #expect(answer.field("Cache-Control") == Self.cacheable)
      #expect(answer.field("Content-Type") == "application/json")
    }
  }

  @Test func anEmptyCatalogueIsAnEmptyArray() throws {
    try withApplication { site in
      site.sql("DELETE FROM models")
      #expect(site.send("GET", Self.path).text == #"{"models":[]}"#)
    }
  }

  @Test func onlyAChangedCatalogueChangesTheETag() throws {
    try withApplication { site in
      let tag = try #require(site.send("GET", Self.path).field("ETag"))
      #expect(tag.wholeMatch(of: /"[0-9a-f]{32}"/) != nil)
      #expect(site.send("GET", Self.path, address: "192.0.2.9").field("ETag") == tag)
      site.sql("UPDATE models SET position = 9 WHERE name = 'gpt-4o'")
      #expect(site.send("GET", Self.path).field("ETag") != tag)
    }
  }

  @Test(arguments: [
    ("TAG", 304), ("W/TAG", 304), ("*", 304), (#""other", TAG"#, 304), (#""a",W/TAG ,"b""#, 304),
    (" TAG ", 304), (#""other""#, 200), ("", 200), (#""*""#, 200), ("TAGx", 200),
  ])
  func aMatchingETagIs304(condition: String, status: Int) throws {
    try withApplication { site in
      let tag = try #require(site.send("GET", Self.path).field("ETag"))
      let condition = condition.replacing("TAG", with: tag)
      for method in ["GET", "HEAD"] {
        let answer = site.send(
          method, Self.path, fields: [(name: "If-None-Match", value: condition)])
        #expect(answer.status == status)
        #expect(answer.text.isEmpty == (status == 304))
        #expect(answer.field("ETag") == tag)
        #expect(answer.field("Cache-Control") == Self.cacheable)
        #expect(answer.field("X-Request-Id") == "request-1")
        #expect((answer.field("Content-Type") == nil) == (status == 304))
      }
    }
  }

  @Test func repeatedIfNoneMatchFieldsAreOneList() throws {
    try withApplication { site in
      let tag = try #require(site.send("GET", Self.path).field("ETag"))
      let answer = site.send(
        "GET", Self.path,
        fields: [
          (name: "If-None-Match", value: #""other""#), (name: "If-None-Match", value: tag),
        ])
      #expect(answer.status == 304)
    }
  }

  @Test func anOldETagGetsTheNewCatalogue() throws {
    try withApplication { site in
      let tag = try #require(site.send("GET", Self.path).field("ETag"))
      site.sql("DELETE FROM models WHERE name = 'gpt-4o'")
      let answer = site.send("GET", Self.path, fields: [(name: "If-None-Match", value: tag)])
      #expect(answer.status == 200)
      #expect(answer.text.contains("mistral-nemo"))
    }
  }

  @Test func headAnswersWithTheFieldsOfGet() throws {
    try withApplication { site in
      let (get, head) = (site.send("GET", Self.path), site.send("HEAD", Self.path))
      #expect(head.status == 200)
      #expect(head.field("ETag") == get.field("ETag"))
      #expect(head.field("Cache-Control") == Self.cacheable)
    }
  }

  @Test func anAddressWithoutATokenMayRead600TimesAnHour() throws {
    try withApplication { site in
      #expect(site.send("GET", Self.path).status == 200)
      site.sql("UPDATE rate_limits SET hits = 599")
      #expect(site.send("GET", Self.path).status == 200)
      let refused = site.send("GET", Self.path)
      #expect(refused.status == 429)
      #expect(refused.string("error", "code") == "rate_limited")
      #expect(refused.field("Retry-After") == "3600")
      #expect(refused.field("Cache-Control") == "no-store")
      #expect(refused.field("ETag") == nil)
      #expect(site.send("GET", Self.path, address: "192.0.2.2").status == 200)
      site.advance(by: .seconds(3600))
      #expect(site.send("GET", Self.path).status == 200)
    }
  }

  @Test func anAccountIsLimitedAcrossAddresses() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let token = ann.accessToken
      _ = site.send("GET", Self.path, token: token, address: "192.0.2.7")
      #expect(
        site.sql("SELECT subject FROM rate_limits WHERE name = 'models'") == ann.accountID)
      site.sql("UPDATE rate_limits SET hits = 600 WHERE name = 'models'")
      #expect(site.send("GET", Self.path, token: token, address: "192.0.2.8").status == 429)
      #expect(site.send("GET", Self.path, address: "192.0.2.7").status == 200)
    }
  }

  @Test func aConditionalReadCountsToo() throws {
    try withApplication { site in
      for _ in 0..<3 {
        _ = site.send("GET", Self.path, fields: [(name: "If-None-Match", value: "*")])
      }
      #expect(site.hits("models") == "3")
    }
  }

  @Test(arguments: ["Bearer nonsense", "Basic eA==", "x", "Bearer "])
  func aWrongAuthorizationIsIgnored(authorization: String) throws {
    try withApplication { site in
      let answer = site.send(
        "GET", Self.path, fields: [(name: "Authorization", value: authorization)])
      #expect(answer.status == 200)
      #expect(site.sql("SELECT subject FROM rate_limits") == "192.0.2.1")
    }
  }
}
