import Base
import Cryptography
import Foundation
import ProcessSupport
import SharedSettings
import Store
import Support
import Testing

@testable import Delivery

/// SIGTERM ends the companion's program within ten seconds, whatever service does not answer.
@Suite struct StopTests {
  /// Ten seconds, and the time that a busy machine needs to run the program.
  private static let limit = Duration.seconds(15)

  private func stop(_ companion: RunningCompanion) throws {
    companion.process.terminate()
    try #require(holds(within: Self.limit) { !companion.process.isRunning }, "it does not end")
    #expect(companion.process.terminationReason == .exit)
    #expect(companion.process.terminationStatus == 0, "\(companion.log)")
  }

  @Test func whileOnlineGoIsSilent() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .silence)
      let companion = try RunningCompanion(
        polling.delivery, "watch", changing: polling.environment)
      defer { companion.end() }
      #expect(holds { polling.site.isBeingAsked(7) })
      try stop(companion)
    }
  }

  @Test(arguments: ["watch", "run"])
  func whileAMailCommandHangs(_ command: String) throws {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      let script = try delivery.script("echo $$ > \(delivery.folder)/pid; exec sleep 600")
      let companion = try RunningCompanion(
        delivery, command,
        changing: ["SWITCHBOARD_MAIL_DIRECTORY": "", "SWITCHBOARD_MAIL_COMMAND": script])
      defer { companion.end() }
      #expect(holds { (try? delivery.text("pid").hasSuffix("\n")) == true })
      try stop(companion)
      #expect(
        delivery.sql("SELECT state, reason FROM outbox")
          == "open\tthe companion was stopped before the mail command ended")
    }
  }

  @Test func whileAppleIsSilent() throws {
    try withDelivery { delivery throws in
      delivery.insert(2)
      delivery.sql("UPDATE deliveries SET shard = 3")
      try withAPNs("silent after 1") { fake throws in
        let companion = try RunningCompanion(
          delivery, "watch", changing: try fake.environment())
        defer { companion.end() }
        let inHand = "SELECT COUNT(*) FROM delivery_leases WHERE batch <> '[]'"
        #expect(holds { delivery.sql(inHand) == "1" })
        try stop(companion)
        #expect(delivery.sql(inHand) == "0")
      }
    }
  }

  @Test func whileGoogleIsSilent() throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        delivery.insertAndroid((1...16).map(androidToken))
        for number in 1...16 { fake.gate.close(androidToken(number)) }
        let companion = try RunningCompanion(
          delivery, "watch",
          changing: [
            "FCM_SERVICE_ACCOUNT": fake.serviceAccount,
            "SWITCHBOARD_SUBSTITUTES": "fcm=\(fake.url)",
          ])
        defer { companion.end() }
        #expect(holds { (1...16).contains { fake.gate.isHolding(androidToken($0)) } })
        try stop(companion)
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM delivery_leases WHERE batch <> '[]'") == "0")
    }
  }

  @Test(arguments: ["watch", "run"])
  func whileTheSiteIsSilent(_ command: String) throws {
    try withDelivery { delivery throws in
      let site = try #require(LoopbackListener())
      defer { site.end() }
      let isAsked = Flag()
      site.begin { connection in
        isAsked.set()
        var byte: UInt8 = 0
        while read(connection, &byte, 1) == 1 {}
        close(connection)
      }
      let companion = try RunningCompanion(
        delivery, command, changing: ["SWITCHBOARD_PUBLIC_URL": "http://127.0.0.1:\(site.port)"])
      defer { companion.end() }
      #expect(holds { isAsked.isSet })
      try stop(companion)
      #expect(delivery.sql("SELECT COUNT(*) FROM problems WHERE name = 'site'") == "0")
    }
  }

  @Test(arguments: ["watch", "run"])
  func whileAPushServiceOfBrowsersIsSilent(_ command: String) throws {
    try withBrowsers { browsers in
      let delivery = browsers.delivery
      browsers.service.gate.close("a")
      let browser = try browsers.subscribe("a")
      browsers.notify(browser)
      let companion = try RunningCompanion(
        delivery, command,
        changing: [
          "WEBPUSH_VAPID_KEY": testPrivateKey, "SWITCHBOARD_ADMINISTRATOR": "a@example.org",
          "WEBPUSH_HOSTS": browsers.service.host,
          "WEBPUSH_CA_CERT": browsers.service.certificatesFile,
          "SWITCHBOARD_OUTBOUND_ALLOW": "127.0.0.0/8",
        ])
      defer { companion.end() }
      #expect(holds { browsers.service.gate.isHolding("a") })
      try stop(companion)
      #expect(browsers.state(of: browser) == "open NoAnswer 1")
    }
  }
}
