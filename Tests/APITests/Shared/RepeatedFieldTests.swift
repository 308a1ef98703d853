import Support
import Testing

@testable import API

/// Fields that hold a credential. Programs differ in which of two values they read.
@Suite struct RepeatedFieldTests {
  /// nginx before 1.23 passes on each value, later releases and other servers join them.
  private static func fields(_ name: String, _ first: String, _ second: String)
    -> [[(name: String, value: String)]]
  {
    [
      [(name, first), (name, second)], [(name.lowercased(), first), (name.uppercased(), first)],
      [(name, "\(first), \(second)")],
    ]
  }

  @Test func twoDeviceCredentialsAre400() throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      let credential = try site.registerDevice("device-9")
      let device = #"{"deviceId":"device-9","deviceName":"P","platform":"ios"}"#
      for (method, path, body) in [
        ("POST", AccountPath.registerDevice, device), ("GET", "/api/mobile/devices", ""),
        ("POST", "/api/mobile/auth/token/refresh", #"{"refreshToken":"\#(ann.refreshToken)"}"#),
        ("POST", "/api/mobile/auth/biometric/challenge", #"{"deviceId":"device-9"}"#),
        ("POST", "/api/mobile/auth/login", #"{"email":"ann@example.org","deviceId":"device-9"}"#),
      ] {
        for fields in Self.fields("X-Device-Credential", credential, "other") {
          let answer = site.send(method, path, body, token: ann.accessToken, fields: fields)
          #expect(answer.status == 400, "\(method) \(path): \(answer.text)")
        }
      }
    }
  }

  @Test func twoKeysAre400() throws {
    try withApplication { site throws in
      let phone = try site.phone(of: 7)
      let ann = try site.signUp()
      for (method, path, token) in [
        ("GET", "/diagnostics/7", nil), ("GET", "/api/merchant/payments", nil),
        ("POST", "/api/merchant/payment/initiate", ann.accessToken),
      ] {
        for fields in Self.fields("x-api-key", phone.key, "other") {
          let answer = site.send(method, path, "{}", token: token, fields: fields)
          #expect(answer.status == 400, "\(method) \(path): \(answer.text)")
        }
      }
    }
  }
}
