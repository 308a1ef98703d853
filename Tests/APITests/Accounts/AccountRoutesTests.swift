import Foundation
import HTTP
import Store
import Support
import Testing

@testable import API

/// Paths and methods of accounts and the wallet.
@Suite struct AccountRoutesTests {
  static let unknown = [
    "/api/mobile/", "/api/mobile/profile/image", "/api/mobile/accounts", "/api/mobile/auth",
    "/api/mobile/auth/login/password/", "/api/mobile/auth/login/", "/api/mobile/AUTH/login",
    "/api/mobile/payment/x/y/z", "/api/mobile/contracts", "/api/mobile/devices/",
    "/api/mobile/devices/a/b", "/api/mobile/passkeys/", "/api/mobile/passkeys/a/b",
    "/api/mobile/auth/passkey/register", "/api/mobile/device/push-token/a/b", "/api/mobile/wallet",
    "/api/mobile/wallet/summary/", "/api/mobile/wallet/summary/x", "/api/enrollment/x",
    "/api/merchant/x", "/api/mobile/wallet/cards/", "/api/mobile/wallet/cards//default",
    "/api/mobile/wallet/cards/x/y", "/api/mobile/wallet/cards/x/default/",
    "/api/mobile/wallet/cards/x/y/default", "/api/mobile/enrollment", "/api/mobile/enrollment/",
    "/api/mobile/enrollment/x/y",
  ]

  /// A 401 would start the app's refresh loop.
  @Test(arguments: unknown)
  func unknownPathsAre404WithAnyToken(path: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      for token in [nil, "garbage", ann.accessToken] {
        for method in ["GET", "POST", "PUT", "DELETE"] {
          let answer = site.send(method, path, token: token)
          #expect(answer.isError(404, "not_found"), "\(method) \(path) \(answer.text)")
          #expect(answer.field("WWW-Authenticate") == nil)
        }
      }
    }
  }

  static let allowed: [(String, Set<String>)] = [
    (AccountPath.registerDevice, ["POST"]), (AccountPath.register, ["POST"]),
    (AccountPath.login, ["POST"]), (AccountPath.password, ["POST"]), (AccountPath.verify, ["POST"]),
    (AccountPath.refresh, ["POST"]),
    (AccountPath.setup, ["POST"]), (AccountPath.challenge, ["POST"]),
    (AccountPath.biometricVerify, ["POST"]), (AccountPath.passkeyOptions, ["POST"]),
    (AccountPath.passkeyVerify, ["POST"]), (AccountPath.passkeys, ["GET", "HEAD"]),
    (AccountPath.passkeys + "/x", ["DELETE", "PUT"]), (AccountPath.biometric, ["DELETE"]),
    (AccountPath.profile, ["GET", "HEAD", "PUT"]), (AccountPath.account, ["DELETE"]),
    (AccountPath.logout, ["POST"]),
    (WalletPath.summary, ["GET", "HEAD"]), (WalletPath.cards, ["GET", "HEAD"]),
    (WalletPath.cards + "/x", ["DELETE"]), (WalletPath.cards + "/x/default", ["POST"]),
    (WalletPath.banks, ["GET", "HEAD"]), (WalletPath.enrollments, ["GET", "HEAD"]),
    ("/api/mobile/enrollment/x", ["DELETE"]), ("/api/mobile/enrollment/start/x", ["POST"]),
    // These routes change data, so HEAD is not allowed.
    ("/api/enrollment/start/x", ["GET"]), ("/api/enrollment/callback/x", ["GET", "POST"]),
    ("/api/merchant/payment/initiate", ["POST"]),
    ("/api/merchant/payment/confirm", ["POST"]),
    (AccountPath.devices, ["GET", "HEAD"]), (AccountPath.devices + "/device-1", ["DELETE", "PUT"]),
    (AccountPath.pushToken, ["POST", "DELETE"]), (AccountPath.pushToken + "/device-1", ["DELETE"]),
  ]

  @Test(arguments: allowed)
  func otherMethodsAre405WithTheAllowedOnes(path: String, methods: Set<String>) throws {
    try withApplication { site in
      for method in Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get"])
        .subtracting(methods)
      {
        let answer = site.send(method, path)
        let isRefused =
          path.hasPrefix("/api/enrollment/callback/")
          ? answer.isEnrollmentError(405, Messages.english.unknownRequest)
          : answer.isError(405, "method_not_allowed")
        #expect(isRefused, "\(method) \(answer.text)")
        let allow = answer.field("Allow")?.components(separatedBy: ", ")
        #expect(allow.map(Set.init) == methods, "\(method)")
      }
    }
  }

  @Test func answersAreJSONWithNoStoreAndTheRequestID() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for answer in [
        site.send("GET", WalletPath.summary, token: ann.accessToken, requestID: "abc"),
        site.send("GET", WalletPath.summary, requestID: "abc"),
        site.send("POST", AccountPath.login, "{", requestID: "abc"),
        site.send("GET", "/api/mobile/unknown", requestID: "abc"),
        site.send("POST", AccountPath.refresh, #"{"refreshToken":"x"}"#, requestID: "abc"),
      ] {
        #expect(answer.field("Content-Type") == "application/json")
        #expect(answer.field("Cache-Control") == "no-store")
        #expect(answer.field("X-Request-Id") == "abc")
      }
    }
  }

  /// RFC 9110 §11.6.1: a 401 names the required scheme.
  @Test func every401NamesTheScheme() throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(site.requestCode().status == 200)
      for answer in [
        site.send("GET", WalletPath.summary), site.summary("garbage"),
        site.verify(code: "no code"), site.refresh("garbage"),
        site.verify(code: "no code", credential: "garbage"),
      ] {
        #expect(answer.status == 401)
        #expect(answer.field("WWW-Authenticate")?.hasPrefix("Bearer") == true, "\(answer.text)")
      }
    }
  }

  @Test func theAssociationFileListsTheAppsOfTheConfiguration() throws {
    let apps = AttestedApps(
      teamID: "TEAM", bundleIDs: ["app.one", "app.two"], environments: [.production])
    try withApplication(attestation: AttestationPolicy(mode: .off, apps: apps)) { site in
      let answer = site.send("GET", "/.well-known/apple-app-site-association")
      #expect(answer.status == 200)
      let ids = #"["TEAM.app.one","TEAM.app.two"]"#
      #expect(
        answer.text
          == #"{"applinks":{"details":[{"appIDs":\#(ids),"components":[{"/":"/pay/*"}]}]},"#
          + #""webcredentials":{"apps":\#(ids)}}"#)
    }
  }

  @Test func paymentLinksHaveThePathOfTheSite() throws {
    let apps = AttestedApps(teamID: "TEAM", bundleIDs: ["app.one"], environments: [.production])
    let settings = API.Settings.ofTests(
      publicURL: "https://example.org/switchboard",
      attestation: AttestationPolicy(mode: .off, apps: apps))
    try withDatabase { root in
      let site = TestApplication(root, settings: settings)
      let answer = site.send("GET", "/.well-known/apple-app-site-association")
      #expect(answer.text.contains(#""components":[{"/":"/switchboard/pay/*"}]"#))
    }
  }

  @Test func withoutAnAppThereIsNoAssociationFile() throws {
    let apps = AttestedApps(teamID: "TEAM", bundleIDs: [], environments: [.production])
    try withApplication(attestation: AttestationPolicy(mode: .off, apps: apps)) { site in
      #expect(site.send("GET", "/.well-known/apple-app-site-association").status == 404)
    }
  }
}
