import Foundation
import Support
import Testing

/// Rotates all keys of a site in use. lighttpd cannot restart its child without a pause.
@Suite(.serialized, .enabled(if: WebServer.ofTests != .lighttpdChild)) struct RotationTests {
  private static let files = [
    "jwt-keys", "hmac-keys", "credential-keys", "payment-keys", "companion-keys",
  ]

  /// Runs `keys COMMAND FILE [ID]` for every file, and then restarts the programs as the command
  /// says.
  private func keys(_ command: String, _ id: String? = nil, of site: Site) {
    for file in Self.files {
      let arguments = ["keys", command, "\(site.state)/secrets/\(file)"] + (id.map { [$0] } ?? [])
      let outcome = site.companion(arguments)
      #expect(outcome.status == 0, "\(outcome.output)")
    }
    // The order of the manual: the companion must know a key before the responder seals with it.
    site.restart("companion")
    let printed = site.companion("keys", "public", "\(site.state)/secrets/companion-keys")
    #expect(printed.status == 0, "\(printed.output)")
    let file = "\(site.state)/secrets/companion-public-keys"
    #expect(throws: Never.self) {
      try printed.output.write(toFile: file, atomically: true, encoding: .utf8)
    }
    // As CGI, the responder reads its keys at each request.
    if WebServer.ofTests.hasResponder { site.restart("responder") }
  }

  /// The name of the newest key: the date of its addition, which may be tomorrow's.
  private func newestKey(of site: Site) throws -> String {
    let listed = site.companion("keys", "\(site.state)/secrets/\(Self.files[0])")
    let id = try #require(listed.output.split(separator: "\n").last?.split(separator: " ").first)
    #expect(id.wholeMatch(of: /20\d\d-\d\d-\d\d/) != nil, "\(listed.output)")
    return String(id)
  }

  @Test func noRequestIsRefusedWhileEveryKeyIsRotated() async throws {
    try await withSite { site in
      let old = try site.signUp()
      var journey = try Journey(through: site)
      var newer = ""
      let statuses = try site.underLoad(by: old) {
        try journey.go(on: "before") {}
        try journey.go(on: "added") { keys("add", of: site) }
        newer = try newestKey(of: site)
        try journey.go(on: "used") { keys("use", newer, of: site) }
        try journey.go(on: "afterwards") {}
      }
      #expect(statuses.keys.allSatisfy { $0 == 200 }, "\(statuses)")
      #expect(statuses[200, default: 0] > 100)

      // Tokens of the old keys end now, so a person who has not returned is signed out.
      let later = try site.underLoad(by: journey.person) {
        keys("remove", "k1", of: site)
        try journey.go(on: "removed") {}
      }
      #expect(later.keys.allSatisfy { $0 == 200 }, "\(later)")
      #expect(site.curl("/api/v1/device-prefs", "--header", old.bearer).status == 401)
      for file in Self.files {
        let listed = site.companion(["keys", "\(site.state)/secrets/\(file)"])
        #expect(listed.output.split(separator: "\n").dropFirst() == ["\(newer)  signs"])
      }
      let known = try String(
        contentsOfFile: "\(site.state)/secrets/companion-public-keys", encoding: .utf8)
      #expect(known.hasPrefix("public:\(newer):") && known.split(separator: "\n").count == 1)
      #expect(try site.sql("SELECT COUNT(*) FROM outbox WHERE state = 'dead'") == "0\n")
    }
  }
}

/// A person's actions that depend on keys. They begin before a step of the rotation and end after
/// it.
private struct Journey {
  private let site: Site
  /// The person with the tokens of the last step.
  private(set) var person: Person
  private var phone: Phone

  init(through site: Site) throws {
    self.site = site
    person = try site.signUp(email: "traveller@example.org")
    phone = try site.pair()
  }

  mutating func go(on step: String, _ rotate: () -> Void) throws {
    #expect(site.post("/api/mobile/auth/register", body(step)).status == 201)
    #expect(site.post("/api/mobile/auth/login", body(step)).status == 200)
    let pairingToken = try site.pairingToken()
    let device = try site.post("/api/mobile/device/register", body(step))
      .string("deviceCredential")

    rotate()

    try wait(for: "a mail with a code") { try site.mailedCode(to: "\(step)@example.org") != nil }
    let code = try #require(try site.mailedCode(to: "\(step)@example.org"))
    let verify = #"{"email":"\#(step)@example.org","deviceId":"\#(step)","code":"\#(code)"}"#
    let signedIn = site.curl(
      "/api/mobile/auth/login/verify", "--header", "X-Device-Credential: \(device)", "--data",
      verify)
    #expect(signedIn.status == 200, "\(step): \(signedIn.body)")

    let refreshed = site.post(
      "/api/mobile/auth/token/refresh", #"{"refreshToken":"\#(person.refreshToken)"}"#)
    try #require(refreshed.status == 200, "\(step): \(refreshed.body)")
    person = Person(
      email: person.email, token: try refreshed.string("accessToken"),
      refreshToken: try refreshed.string("refreshToken"))
    #expect(site.curl("/api/mobile/wallet/summary", "--header", person.bearer).status == 200)

    let paired = site.post("/api/auth/exchange", #"{"pairing_token":"\#(pairingToken)"}"#)
    #expect(paired.status == 200, "\(step): \(paired.body)")
    let renewed = site.post("/api/auth/refresh", #"{"refresh_token":"\#(phone.refresh)"}"#)
    try #require(renewed.status == 200, "\(step): \(renewed.body)")
    phone = Phone(
      access: try renewed.string("access_token"), refresh: try renewed.string("refresh_token"))
    let access = "Authorization: Bearer \(phone.access)"
    #expect(site.curl("/api/status", "--header", access).status == 200, "\(step)")
  }

  private func body(_ step: String) -> String {
    """
    {"email":"\(step)@example.org","name":"Ann","deviceId":"\(step)","deviceName":"Phone","platform":"ios"}
    """
  }
}
