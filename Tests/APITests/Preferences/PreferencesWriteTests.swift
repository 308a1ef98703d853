import Foundation
import Testing

@testable import API

@Suite struct PreferencesWriteTests {
  private static let full =
    #"{"push_enabled":true,"push_token":"apns_dev_ABC123","preferred_models":["gpt-4o"],"#
    + #""archive_cache_quota_mb":1024}"#

  /// The answer to a post of `fields` to a device with every preference set.
  private func merged(_ fields: String) throws -> Answer {
    try withApplication { site in
      let ann = try site.signUp()
      try #require(site.post(Self.full, by: ann).status == 200)
      let answer = site.post(fields, by: ann)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(site.preferences(of: ann).text == answer.text)
      return answer
    }
  }

  @Test(
    arguments: [
      (#"{}"#, true, "apns_dev_ABC123", ["gpt-4o"], 1024),
      (#"{"push_enabled":false}"#, false, "apns_dev_ABC123", ["gpt-4o"], 1024),
      (#"{"push_token":"other"}"#, true, "other", ["gpt-4o"], 1024),
      (#"{"push_token":null}"#, true, nil, ["gpt-4o"], 1024),
      (#"{"preferred_models":["mistral-nemo"]}"#, true, "apns_dev_ABC123", ["mistral-nemo"], 1024),
      (#"{"preferred_models":[]}"#, true, "apns_dev_ABC123", [], 1024),
      (#"{"archive_cache_quota_mb":256}"#, true, "apns_dev_ABC123", ["gpt-4o"], 256),
      (#"{"unknown":{"a":[1]},"push_enabled":false}"#, false, "apns_dev_ABC123", ["gpt-4o"], 1024),
    ] as [(String, Bool, String?, [String], Int)])
  func onlyMembersInTheBodyChange(
    body: String, enabled: Bool, token: String?, models: [String], quota: Int
  ) throws {
    let answer = try merged(body)
    #expect(answer["push_enabled"] as? Bool == enabled)
    #expect(answer.string("push_token") == token)
    #expect(answer.models == models)
    #expect(answer.quota == quota)
    #expect(answer.version == 2)
  }

  @Test func theBodyOfTheRealAppIsStored() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.post(
        #"{"push_enabled":false,"preferred_models":["gpt-4o","mistral-nemo","gpt-4o-mini"],"#
          + #""archive_cache_quota_mb":512}"#, by: ann)
      #expect(answer.status == 200)
      #expect(answer.models == ["gpt-4o", "mistral-nemo", "gpt-4o-mini"])
      #expect(answer.version == 1)
    }
  }

  @Test(arguments: [
    ("128", 128), ("127", 128), ("0", 128), ("-1", 128), ("-1e30", 128), ("129", 129),
    ("512.0", 512), ("6.4e2", 640), ("4095", 4095), ("4096", 4096), ("4097", 4096),
    ("5000", 4096), ("1e30", 4096), ("9223372036854775808", 4096), ("-9223372036854775809", 128),
    ("1e308", 4096),
  ])
  func theQuotaIsClamped(number: String, stored: Int) throws {
    #expect(try merged(#"{"archive_cache_quota_mb":\#(number)}"#).quota == stored)
  }

  @Test(arguments: [
    (#"{"push_enabled":null}"#, "push_enabled: "),
    (#"{"push_enabled":"true"}"#, "push_enabled: wrong_type"),
    (#"{"push_enabled":1}"#, "push_enabled: wrong_type"),
    (#"{"push_token":5}"#, "push_token: wrong_type"),
    (#"{"push_token":["t"]}"#, "push_token: wrong_type"),
    (#"{"push_token":""}"#, "push_token: empty"),
    (#"{"push_token":"\#(String(repeating: "t", count: 513))"}"#, "push_token: too_long"),
    (#"{"preferred_models":null}"#, "preferred_models: must_not_be_null"),
    (#"{"preferred_models":"gpt-4o"}"#, "preferred_models: wrong_type"),
    (#"{"preferred_models":{"0":"gpt-4o"}}"#, "preferred_models: wrong_type"),
    (#"{"archive_cache_quota_mb":null}"#, "archive_cache_quota_mb: must_not_be_null"),
    (#"{"archive_cache_quota_mb":"512"}"#, "archive_cache_quota_mb: wrong_type"),
    (#"{"archive_cache_quota_mb":true}"#, "archive_cache_quota_mb: wrong_type"),
    (#"{"archive_cache_quota_mb":512.5}"#, "archive_cache_quota_mb: must_be_an_integer"),
    (#"{"if_version":"0"}"#, "if_version: wrong_type"),
    (#"{"if_version":0.5}"#, "if_version: must_be_an_integer"),
    (#"[]"#, ": wrong_type"), (#""text""#, ": wrong_type"), (#"5"#, ": wrong_type"),
    (#"null"#, ": must_not_be_null"),
  ])
  func aMemberOfTheWrongTypeIs400AndIsNamed(body: String, complaint: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.post(body, by: ann)
      #expect(answer.status == 400)
      #expect(answer.string("error", "code") == "validation_error")
      #expect(answer.complaint?.hasPrefix(complaint) == true)
      #expect(site.preferences(of: ann).version == 0)
      #expect(site.hits("device-prefs") == "")
    }
  }

  @Test func aModelThatIsNotAStringIs400() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for body in [#"{"preferred_models":["gpt-4o",1]}"#, #"{"preferred_models":[null]}"#] {
        let answer = site.post(body, by: ann)
        #expect(answer.status == 400)
        #expect(answer.complaint?.hasPrefix("preferred_models") == true)
      }
    }
  }

  @Test(arguments: [1, 512])
  func aPushTokenIsOpaqueAndHas1To512Characters(count: Int) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let token = String(repeating: "🎉", count: count)
      #expect(site.post(#"{"push_token":"\#(token)"}"#, by: ann).status == 200)
      #expect(site.preferences(of: ann).string("push_token") == token)
    }
  }

  @Test(arguments: ["null", #""somebody-elses""#, #""""#, "17", "{}"])
  func theDeviceIDInTheBodyIsIgnored(hint: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.post(#"{"device_id":\#(hint),"push_enabled":true}"#, by: ann)
      #expect(answer.status == 200)
      #expect(answer.string("device_id") == site.onlyDevice)
    }
  }

  @Test func theDeviceIDOfAnotherAccountGivesNoAccess() throws {
    try withApplication { site in
      let ann = try site.signUp(email: "ann@example.org", device: "device-1")
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      let hers = try #require(site.preferences(of: ann).string("device_id"))
      let answer = site.post(#"{"device_id":"\#(hers)","push_enabled":true}"#, by: bob)
      #expect(answer.string("device_id") != hers)
      #expect(site.preferences(of: ann).version == 0)
      #expect(site.preferences(of: bob).version == 1)
    }
  }

  @Test func unusualCharactersAreKept() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let body = #"{"push_token":"a\"b\\c\u0001\n\u2028 é 🎉 </script>"}"#
      #expect(site.post(body, by: ann).status == 200)
      #expect(
        site.preferences(of: ann).string("push_token")
          == "a\"b\\c\u{1}\n\u{2028} é 🎉 </script>")
    }
  }

  @Test func manyUnknownMembersAreIgnored() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let rest = (0..<2000).map { #""m\#($0)":{"a":[\#($0)]}"# }.joined(separator: ",")
      #expect(site.post(#"{\#(rest),"push_enabled":true}"#, by: ann).status == 200)
    }
  }
}
