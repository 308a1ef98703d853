import Foundation
import Support
import Testing

extension Fault {
  static let ofOutside: [Fault] = [
    Fault(
      name: "The mail command ends with 75", problem: .mail, words: "ended with status 75",
      mended: "By itself, within a minute after it works.",
      inject: { try $0.mailCommand("fail") }, mend: { try $0.mailCommand("") }),
    Fault(
      name: "The mail command hangs", problem: .mail, words: "took more than",
      mended: "By itself, within a minute after it works.",
      inject: { try $0.mailCommand("hang") }, mend: { try $0.mailCommand("") }),
    Fault(
      name: "The disk of `SWITCHBOARD_MAIL_DIRECTORY` is full", problem: .disk,
      words: "disk of the mails", mended: "Make room. What waits goes out within a minute.",
      inject: { try $0.sendMailsToFullDisk() }, mend: { try $0.makeRoomForMails() }),
    Fault(
      name: "The key for APNs is wrong (403)", problem: .apns, words: "InvalidProviderToken",
      mended: "Give the companion the right key. What waits goes out within two minutes.",
      inject: { site in
        let key = Site.run(
          ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
        try site.replaceSecret("apns-private-key", with: key.output)
        try site.forgetProviderToken()
        try site.restartAsItIs("companion")
      },
      mend: {
        try $0.replaceSecret("apns-private-key", with: nil)
        try $0.forgetProviderToken()
        try $0.restartAsItIs("companion")
      }),
    Fault(
      name: "Apple's host takes connections and says nothing", problem: .apns,
      words: "Notifications are not sent", mended: "By itself, within 16 minutes.",
      inject: { try $0.freeze("apns") }, mend: { try $0.thaw("apns") }),
    Fault(
      name: "Apple's host refuses connections", problem: .apns, words: "cannot be reached",
      mended: "By itself, within 16 minutes.",
      inject: { try $0.end("apns") }, mend: { try $0.revive("apns") }),
    Fault(
      name: "Apple answers 503", problem: .apns, words: "503 ServiceUnavailable",
      mended: "By itself: what waits is tried after `APNS_RETRY_SECONDS`, or by `outbox retry`.",
      inject: { try $0.restart("apns", before: "--fault 'answer every 1 503 ServiceUnavailable'") },
      mend: { try $0.restart("apns") }),
    Fault(
      name: "online-go.com refuses connections", problem: .ogs, words: "does not answer polls",
      requests: .withCheck, mended: "By itself, within 15 minutes.",
      inject: { try $0.end("ogs") }, mend: { try $0.revive("ogs") }),
    Fault(
      name: "online-go.com answers 429", problem: .ogs, words: "429", requests: .withCheck,
      mended: "By itself, within 15 minutes.",
      inject: { try $0.setFault(of: "ogs", in: "fault", "status 429") },
      mend: { try $0.setFault(of: "ogs", in: "fault", nil) }),
    Fault(
      name: "online-go.com takes connections and says nothing", problem: .ogs, words: "imeout",
      requests: .withCheck, mended: "By itself, within 15 minutes.",
      inject: { try $0.setFault(of: "ogs", in: "fault", "silence") },
      mend: { try $0.setFault(of: "ogs", in: "fault", nil) }),
    Fault(
      name: "A bank takes connections and says nothing", problem: .bank,
      words: "test-bank does not answer", requests: .withEnrollment,
      mended: "By itself, when somebody enrolls there again.",
      inject: { try $0.setFault(of: "bank", in: "faults", "token silence") },
      mend: { site in
        try site.setFault(of: "bank", in: "faults", nil)
        let again = try FaultSite.Request.enrollment.send(site.client)
        #expect(again == "302 success=true")
      }),
  ]
}

extension FaultSite {
  /// Ages the provider token, so that the companion and Apple accept another one.
  fileprivate func forgetProviderToken() throws {
    _ = try site.sql("UPDATE provider_tokens SET issued_at = issued_at - INTERVAL 30 MINUTE")
    try restart("apns")
  }
}

extension [FaultSite.Request] {
  fileprivate static let withCheck = FaultSite.Request.usual + [.check]
  fileprivate static let withEnrollment = FaultSite.Request.usual + [.enrollment]
}

extension FaultSite.Request {
  /// Requests the player's games.
  fileprivate static let check = Self(name: "check of a game") { client in
    "\(client.site.curl("/check/7", "--header", client.player.header).status)"
  }

  /// Enrolls at the fake bank, which consents at once.
  fileprivate static let enrollment = Self(name: "enrollment") { client in
    let site = client.site
    let started = site.post("/api/mobile/enrollment/start/test-bank", "", client.person.bearer)
    let consent = Site.run([
      "curl", "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out",
      "%{redirect_url}", try started.string("authUrl"),
    ]).output
    // Sends the form of the page that asks first.
    let parts = consent.dropFirst(site.url.count).split(separator: "?").map(String.init)
    try #require(parts.count == 2, "\(consent)")
    let back = site.curl(parts[0], "--data", parts[1])
    let end = back.fields["location"]?.firstMatch(of: /success=true|error=\w+/)?.0 ?? ""
    return "\(back.status) \(end)".trimmed
  }
}
