import Foundation
import Support
import Testing

/// The contracts' own examples, run like an app and an administrator.
@Suite(.serialized) struct ContractTests {
  /// The three commands of the preferences contract, with another host and token.
  @Test func theCurlExamplesOfThePreferencesContractWork() async throws {
    try await withSite { site in
      let person = try site.signUp()
      for _ in 1...4 { _ = site.post("/api/v1/device-prefs", "{}", person.bearer) }
      func run(_ example: String) throws -> [String: Any] {
        let command = example.replacingOccurrences(of: "https://api.hamrah.app", with: site.url)
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", command]
        process.environment = ["PATH": "/usr/bin:/bin", "TOKEN": person.token, "CHALLENGE": "eA=="]
        process.standardOutput = output
        try process.run()
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return try #require(JSONSerialization.jsonObject(with: printed) as? [String: Any])
      }

      let fetched = try run(
        #"""
        curl -sS -X GET https://api.hamrah.app/api/v1/device-prefs \
          -H "Authorization: Bearer $TOKEN" \
          -H "X-Request-Challenge: $CHALLENGE" \
          -H "Content-Type: application/json"
        """#)
      #expect(fetched["version"] as? Int == 4)

      let saved = try run(
        #"""
        curl -sS -X POST https://api.hamrah.app/api/v1/device-prefs \
          -H "Authorization: Bearer $TOKEN" \
          -H "X-Request-Challenge: $CHALLENGE" \
          -H "Content-Type: application/json" \
          -d '{
            "push_enabled": true,
            "push_token": "apns_dev_ABC123",
            "preferred_models": ["gpt-4o-mini", "claude-3.5-sonnet"],
            "archive_cache_quota_mb": 512,
            "if_version": 4
          }'
        """#)
      #expect(saved["version"] as? Int == 5)
      #expect(saved["push_enabled"] as? Bool == true)
      #expect(saved["push_token"] as? String == "apns_dev_ABC123")
      #expect(saved["preferred_models"] as? [String] == ["gpt-4o-mini", "claude-3.5-sonnet"])

      let models = try run("curl -sS -X GET https://api.hamrah.app/api/v1/models")
      #expect(
        models["models"] as? [String]
          == ["gpt-4o-mini", "claude-3.5-sonnet", "gpt-4o", "mistral-nemo"])
    }
  }

  @Test func aCodeIsMailedBeforeTheNextInterval() async throws {
    try await withSite(environment: ["CHECK_INTERVAL_SECONDS": "3600"]) { site in
      let person = try site.signUp()
      _ = site.post("/api/mobile/auth/login", person.body)
      try wait(for: "a mail with a code") { try site.mailedCode(to: person.email) != nil }
    }
  }

  /// Issues and uses every kind of secret in every way, and expects no secret in the database and
  /// the logs.
  @Test func noSecretIsInTheDatabaseOrTheLogs() async throws {
    try await withSite { site in
      var secrets = try site.developmentSecrets()
      let device = site.post(
        "/api/mobile/device/register",
        #"{"deviceId":"phone-1","platform":"ios","deviceName":"Phone"}"#)
      secrets += try [device.string("deviceCredential")]
      let person = try site.signUp()
      secrets += [person.token, person.refreshToken]

      let login = site.post("/api/mobile/auth/login", person.body)
      secrets += try [login.string("challenge")]
      try wait(for: "a mail with a code") { try site.mailedCode(to: person.email) != nil }
      let code = try #require(try site.mailedCode(to: person.email))
      secrets.append(code)
      let verified = site.post(
        "/api/mobile/auth/login/verify",
        #"{"email":"\#(person.email)","deviceId":"phone-1","code":"\#(code)"}"#, person.bearer)
      let newest = try verified.token("refreshToken")
      secrets += [try verified.token("accessToken"), newest]

      let refreshed = site.post(
        "/api/mobile/auth/token/refresh", #"{"refreshToken":"\#(newest)"}"#)
      secrets += try [refreshed.string("accessToken"), refreshed.string("refreshToken")]

      // Causes logged errors: wrong places, wrong formats, a used code, a token in a URL.
      for secret in secrets {
        _ = site.curl(
          "/api/v1/device-prefs?token=\(secret)", "--header", "X-Device-Credential: \(secret)")
        _ = site.post("/api/mobile/auth/token/refresh", #"{"refreshToken":"\#(secret)"}"#)
        _ = site.post("/api/mobile/auth/token/refresh", #"{"refreshToken":\#(secret)"#)
        _ = site.post(
          "/api/v1/device-prefs", #"{"archive_cache_quota_mb":"\#(secret)"}"#, person.bearer)
        _ = site.post(
          "/api/mobile/auth/login/verify",
          #"{"email":"\#(person.email)","deviceId":"phone-1","code":"\#(secret)"}"#)
      }
      // Without the database the logged errors are longer.
      kill(try #require(site.pid(of: "mariadb")), SIGKILL)
      _ = site.post("/api/mobile/auth/login", person.body)
      wait(for: "a healthy site") { site.curl("/health").status == 200 }

      let dump = site.dump()
      #expect(dump.contains("INSERT INTO `login_codes`"))
      for log in Site.logs {
        let text = try site.log(log)
        for secret in secrets { #expect(!text.holds(secret), "\(log)") }
      }
      for secret in secrets { #expect(!dump.holds(secret)) }
    }
  }
}
