import Foundation
import HTTP
import Testing

@testable import API

/// Access to `/api/push/…`, and the order of the checks.
@Suite struct PushGuardTests {
  private static let actions = ["register", "unregister", "subscribe", "unsubscribe", "test"]
  private static let missing = "Unauthorized - missing credentials"
  private static let invalid = "Unauthorized - invalid token"

  /// The fields of a request with these two values; nil omits the field.
  private func fields(_ authorization: String?, _ username: String?) -> [(
    name: String, value: String
  )] {
    [pushOrigin] + (authorization.map { [("Authorization", $0)] } ?? [])
      + (username.map { [("X-Username", $0)] } ?? [])
  }

  @Test func missingCredentialsAreReportedBeforeWrongOnes() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bearer = "Bearer \(ann.accessToken)"
      let cases: [(String?, String?, String)] = [
        (nil, nil, Self.missing), (bearer, nil, Self.missing), (bearer, "", Self.missing),
        (bearer, "  ", Self.missing), (nil, ann.email, Self.missing),
        ("", ann.email, Self.missing), ("Bearer", ann.email, Self.missing),
        ("Bearer ", ann.email, Self.missing), ("Basic YTpi", ann.email, Self.missing),
        (ann.accessToken, ann.email, Self.missing), ("Bearer nonsense", nil, Self.missing),
        ("Bearer nonsense", ann.email, Self.invalid),
        ("Bearer \(ann.refreshToken)", ann.email, Self.invalid),
        (bearer + "x", ann.email, Self.invalid), (bearer, "bob@example.org", Self.invalid),
        (bearer, "ann", Self.invalid), (bearer, ann.accountID, Self.invalid),
      ]
      for (authorization, username, message) in cases {
        for action in Self.actions {
          for body in ["{}", "[", #"{"token":5}"#] {
            let answer = site.application.push(
              action, body, fields: fields(authorization, username))
            #expect(
              answer.isPushError(401, message),
              "\(action) \(body) \(username ?? "-"): \(answer.text)")
            #expect(answer.field("WWW-Authenticate")?.hasPrefix("Bearer") == true)
          }
        }
      }
    }
  }

  @Test(arguments: ["ann@example.org", "  ANN@Example.ORG ", ", ann@example.org"])
  func theUsernameIsTrimmedAndLowerCased(username: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      for scheme in ["Bearer", "bearer", "BEARER"] {
        let answer = site.application.push(
          "unregister", fields: fields("\(scheme) \(ann.accessToken)", username))
        #expect(answer.status == 200, "\(answer.text)")
      }
    }
  }

  @Test func theUsernameIsTheAccountsNotTheEmail() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.sql("UPDATE accounts SET username = 'annie'")
      let bearer = "Bearer \(ann.accessToken)"
      #expect(site.application.push("unregister", fields: fields(bearer, "Annie")).status == 200)
      #expect(
        site.application.push("unregister", fields: fields(bearer, ann.email))
          .isPushError(401, Self.invalid))
    }
  }

  @Test func anExpiredTokenOrEndedSessionIsInvalid() throws {
    try withApplication { site in
      site.seeCompanion()
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      #expect(
        site.send("POST", "/api/mobile/auth/logout", token: ann.accessToken).status == 200)
      for action in Self.actions {
        for body in ["{}", "["] {
          #expect(site.push(action, body, by: ann).isPushError(401, Self.invalid))
        }
      }
      site.advance(by: .seconds(3600))
      for action in Self.actions {
        #expect(site.push(action, "{}", by: bob).isPushError(401, Self.invalid))
      }
      #expect(site.count("push_tokens") == 0)
    }
  }

  @Test func aWrongDeviceCredentialIsInvalid() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.application.push(
        "register", #"{"token":"\#(pushTokenText())"}"#,
        fields: fields("Bearer \(ann.accessToken)", ann.email) + [("X-Device-Credential", "x")])
      #expect(answer.isPushError(401, Self.invalid))
      #expect(site.count("push_tokens") == 0)
    }
  }

  /// `/health` uses the same rule: the companion is missing after two passes and a minute.
  @Test func aCompanionWhosePassesAreRareIsNotMissedAfterFiveMinutes() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let missed = {
        site.push("test", "[", by: ann).isPushError(503, "Push delivery is not running")
      }
      for (minutes, isMissed) in [(119, false), (122, true)] {
        site.seeCompanion(missing: "SWITCHBOARD_MAIL_COMMAND", age: "\(minutes) MINUTE")
        site.sql("UPDATE companion_status SET pass_interval = 3600")
        #expect(missed() == isMissed)
        let health = site.send("GET", "/health").text
        #expect(health.contains("No companion has ended a pass") == isMissed)
      }
    }
  }

  @Test func aTestChecksTheConfigurationBeforeTheBody() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let notRunning = { (body: String) in
        let answer = site.push("test", body, by: ann)
        #expect(answer.isPushError(503, "Push delivery is not running"), "\(answer.text)")
        #expect(answer.field("Retry-After") == "60")
      }
      notRunning("[")
      site.seeCompanion(age: "5 MINUTE")
      notRunning("{}")
      site.seeCompanion(
        missing: "SWITCHBOARD_MAIL_COMMAND APNS_KEY_ID APNS_TEAM_ID APNS_BUNDLE_ID APNS_PRIVATE_KEY"
      )
      for body in ["{}", "["] {
        let answer = site.push("test", body, by: ann)
        #expect(answer.status == 500)
        #expect(
          answer.text
            == #"{"error":"APNs is not configured.","missingEnvVars":["APNS_KEY_ID","APNS_TEAM_ID","APNS_BUNDLE_ID","APNS_PRIVATE_KEY"]}"#
        )
        #expect(answer.crossOriginFields == Answer.allowed)
      }
      site.seeCompanion(missing: "SWITCHBOARD_MAIL_COMMAND", age: "4 MINUTE")
      #expect(
        site.push("test", "[", by: ann).isPushError(400, "Request body must be a JSON object"))
      // Register and unregister do not need Apple.
      site.sql("DELETE FROM companion_status")
      #expect(site.push("unregister", "{}", by: ann).status == 200)
    }
  }

  @Test func theCompanionSeenLastDecides() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.seeCompanion(missing: "APNS_KEY_ID", age: "20 SECOND")
      site.sql(
        "INSERT INTO companion_status (host, version, last_pass_at) VALUES ('g', '1', UTC_TIMESTAMP(3))"
      )
      #expect(
        site.push("test", "[", by: ann).isPushError(400, "Request body must be a JSON object"))
    }
  }

  @Test func serverErrorsHaveTheFieldsForTheOrigin() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.seeCompanion()
      site.sql("RENAME TABLE push_tokens TO gone")
      for (action, body) in [
        ("register", #"{"token":"\#(pushTokenText())"}"#), ("unregister", "{}"), ("test", "{}"),
      ] {
        #expect(site.push(action, body, by: ann).isPushError(500, "Internal server error"))
      }
    }
  }

  @Test func withoutADatabaseEveryRouteIs503() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let application = Application.withoutDatabase(clock: { site.now })
      for action in Self.actions {
        for body in [#"{"token":"\#(pushTokenText())"}"#, "["] {
          let answer = site.push(action, body, by: ann, to: application)
          #expect(answer.isPushError(503, "Temporarily unavailable"), "\(answer.text)")
          #expect(answer.field("Retry-After") == "2")
        }
      }
    }
  }
}
