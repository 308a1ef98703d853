import Support
import Testing

@testable import API

/// `if_version`, repeated posts and parallel posts.
@Suite struct PreferencesVersionTests {
  /// Calls `body` with a device at version 3.
  private func withThreeWrites(_ body: (TestApplication, SignedIn) throws -> Void) throws {
    try withApplication { site in
      let ann = try site.signUp()
      for quota in [200, 300, 400] {
        site.post(#"{"archive_cache_quota_mb":\#(quota)}"#, by: ann)
      }
      try body(site, ann)
    }
  }

  @Test(arguments: ["2", "4", "0", "-1", "1e30", "4294967296", "-9223372036854775808"])
  func anotherVersionIsAConflictWithTheCurrentObject(version: String) throws {
    try withThreeWrites { site, ann in
      let current = site.preferences(of: ann).text
      let audited = site.audited("preferences_written")
      site.advance(by: .seconds(5))
      let answer = site.post(
        #"{"archive_cache_quota_mb":500,"push_token":"x","if_version":\#(version)}"#, by: ann)
      #expect(answer.status == 409)
      #expect(
        answer.text
          == String(current.dropLast())
          + #","error":{"code":"conflict","message":"The preferences have changed since the "#
          + #"version in if_version"}}"#)
      #expect(site.preferences(of: ann).text == current)
      #expect(site.audited("preferences_written") == audited)
      #expect(site.hits("device-prefs") == "3")
    }
  }

  @Test(arguments: ["3", "3.0"])
  func theCurrentVersionIsStored(version: String) throws {
    try withThreeWrites { site, ann in
      let answer = site.post(#"{"push_enabled":true,"if_version":\#(version)}"#, by: ann)
      #expect(answer.status == 200)
      #expect(answer.version == 4)
    }
  }

  @Test func aNullVersionIsIgnored() throws {
    try withThreeWrites { site, ann in
      for version in 4...6 {
        let answer = site.post(#"{"push_enabled":true,"if_version":null}"#, by: ann)
        #expect(answer.version == version)
      }
    }
  }

  @Test func aRepeatedPostWithoutAVersionIsStoredEachTime() throws {
    try withThreeWrites { site, ann in
      for version in 4...6 {
        site.advance(by: .seconds(1))
        let answer = site.post(#"{"push_enabled":true}"#, by: ann)
        #expect(answer.version == version)
        #expect(answer.string("last_updated_at") == "2026-11-18T11:06:4\(version - 3)Z")
      }
    }
  }

  @Test func aRepeatedPostWithAVersionWritesNothing() throws {
    try withThreeWrites { site, ann in
      let body =
        #"{"push_enabled":true,"push_token":"apns_dev_ABC123","preferred_models":["gpt-4o"],"#
        + #""archive_cache_quota_mb":5000,"if_version":3}"#
      let first = site.post(body, by: ann)
      #expect(first.version == 4)
      let row = "SELECT * FROM device_preferences"
      let (written, audited) = (site.sql(row), site.audited("preferences_written"))
      for _ in 0..<3 {
        site.advance(by: .seconds(7))
        let again = site.post(body, by: ann)
        #expect(again.status == 200)
        #expect(again.text == first.text)
      }
      #expect(site.sql(row) == written)
      #expect(site.audited("preferences_written") == audited)
      #expect(site.hits("device-prefs") == "4")
    }
  }

  @Test(arguments: [
    #"{"if_version":3,"archive_cache_quota_mb":640,"push_enabled":true,"preferred_models":["gpt-4o"]}"#,
    #" { "push_enabled" : true , "preferred_models":[" GPT-4O ","gpt-4o"], "if_version":3.0, "archive_cache_quota_mb":6.4e2, "more":1}"#,
  ])
  func aRepeatedPostMayBeSpelledDifferently(spelling: String) throws {
    try withThreeWrites { site, ann in
      let first = site.post(
        #"{"push_enabled":true,"preferred_models":["gpt-4o"],"archive_cache_quota_mb":640,"if_version":3}"#,
        by: ann)
      let again = site.post(spelling, by: ann)
      #expect(again.status == 200)
      #expect(again.text == first.text)
      #expect(site.audited("preferences_written") == 4)
    }
  }

  @Test(arguments: [
    #"{"push_enabled":false,"push_token":null,"if_version":3}"#,
    #"{"push_enabled":true,"if_version":3}"#,
    #"{"push_enabled":true,"push_token":"x","if_version":3}"#,
    #"{"push_enabled":true,"push_token":null,"archive_cache_quota_mb":400,"if_version":3}"#,
    #"{"push_enabled":true,"push_token":null,"preferred_models":[],"if_version":3}"#,
    #"{"push_enabled":true,"push_token":null,"if_version":2}"#,
  ])
  func anotherPostOnTheSameVersionIsAConflict(other: String) throws {
    try withThreeWrites { site, ann in
      site.post(#"{"push_enabled":true,"push_token":null,"if_version":3}"#, by: ann)
      #expect(site.post(other, by: ann).status == 409)
      #expect(site.preferences(of: ann).version == 4)
    }
  }

  @Test func aRepetitionAfterAnotherWriteIsAConflict() throws {
    try withThreeWrites { site, ann in
      let body = #"{"push_enabled":true,"if_version":3}"#
      #expect(site.post(body, by: ann).status == 200)
      #expect(site.post(#"{"push_enabled":false}"#, by: ann).version == 5)
      let answer = site.post(body, by: ann)
      #expect(answer.status == 409)
      #expect(answer.version == 5)
    }
  }

  @Test func aRepetitionIsAnsweredOverTheLimit() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let body = #"{"push_enabled":true,"if_version":0}"#
      #expect(site.post(body, by: ann).status == 200)
      site.sql("UPDATE rate_limits SET hits = 30 WHERE name = 'device-prefs'")
      #expect(site.post(body, by: ann).status == 200)
      #expect(site.post(#"{"push_enabled":true,"if_version":1}"#, by: ann).status == 429)
    }
  }

  @Test func oneOfSixtyFourDifferentPostsOnOneVersionIsStored() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answers = inParallel(64) { number in
        site.post(#"{"archive_cache_quota_mb":\#(200 + number),"if_version":0}"#, by: ann)
      }
      let stored = answers.filter { $0.status == 200 }
      #expect(stored.count == 1)
      #expect(answers.filter { $0.status == 409 }.count == 63)
      #expect(site.preferences(of: ann).text == stored.first?.text)
      #expect(stored.first?.version == 1)
      #expect(answers.allSatisfy { $0.quota == stored.first?.quota })
      #expect(site.audited("preferences_written") == 1)
      #expect(site.hits("device-prefs") == "1")
    }
  }

  @Test func aPostSent64TimesInParallelIsStoredOnceAndAnsweredAlways() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answers = inParallel(64) { _ in
        site.post(#"{"push_enabled":true,"if_version":0}"#, by: ann)
      }
      #expect(answers.allSatisfy { $0.status == 200 && $0.version == 1 })
      #expect(site.audited("preferences_written") == 1)
    }
  }

  @Test func thirtyPostsInParallelMakeThirtyVersions() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answers = inParallel(30) { _ in site.post(#"{"push_enabled":true}"#, by: ann) }
      #expect(answers.compactMap(\.version).sorted() == Array(1...30))
      #expect(site.preferences(of: ann).version == 30)
      #expect(site.audited("preferences_written") == 30)
    }
  }

  @Test func parallelPostsOfDifferentMembersAreMerged() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bodies = [
        #"{"push_enabled":true}"#, #"{"push_token":"x"}"#, #"{"preferred_models":["gpt-4o"]}"#,
        #"{"archive_cache_quota_mb":999}"#,
      ]
      let answers = inParallel(4) { site.post(bodies[$0], by: ann) }
      #expect(answers.allSatisfy { $0.status == 200 })
      let merged = site.preferences(of: ann)
      #expect(merged["push_enabled"] as? Bool == true)
      #expect(merged.string("push_token") == "x")
      #expect(merged.models == ["gpt-4o"])
      #expect(merged.quota == 999)
      #expect(merged.version == 4)
    }
  }
}
