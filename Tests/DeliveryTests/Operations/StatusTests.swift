import Cryptography
import Foundation
import Glibc
import Store
import Support
import Testing

@testable import Delivery

/// Reports to administrators: `status`, and the reasons of its failure.
@Suite(.serialized) struct StatusTests {
  private func fail(_ delivery: TestDelivery) {
    delivery.sql(
      """
      INSERT INTO problems (host, name, reason, since, seen_at)
      VALUES ('h', 'mail', 'Mails fail.', '2026-01-02 03:04:05', UTC_TIMESTAMP(3))
      """)
  }

  @Test func whereAllIsWellItEndsWith0() throws {
    try withDelivery { delivery throws in
      try RunningCompanion(delivery, "run").end(expecting: 0)
      let status = try RunningCompanion(delivery, "status")
      try status.end(expecting: 0)
      #expect(status.output.hasPrefix("All is well.\n"))
      #expect(status.output.contains("The last pass ended "))
      #expect(
        status.output.contains(
          "Not set, so something is left out: SWITCHBOARD_ADMINISTRATOR APNS_KEY_ID")
      )
    }
  }

  @Test func aProblemIsToldWithItsReasonAndWhatToDo() throws {
    try withDelivery { delivery throws in
      try RunningCompanion(delivery, "run").end(expecting: 0)
      fail(delivery)
      let status = try RunningCompanion(delivery, "status")
      try status.end(expecting: 1)
      #expect(
        status.output.hasPrefix(
          """
          The site answers requests, but one thing fails.

          mail, since 2026-01-02T03:04:05Z, on h
            Mails fail.
            \(Problem.Name.mail.advice)

          """))
      let json = try RunningCompanion(delivery, "status --json")
      try json.end(expecting: 1)
      let read = try #require(
        try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
      #expect(read["status"] as? String == "degraded")
      #expect((read["missing"] as? [String])?.first == "SWITCHBOARD_ADMINISTRATOR")
      let problem = try #require((read["problems"] as? [[String: String]])?.first)
      #expect(
        problem == [
          "name": "mail", "subject": "", "host": "h", "since": "2026-01-02T03:04:05Z",
          "reason": "Mails fail.", "advice": Problem.Name.mail.advice,
        ])
    }
  }

  @Test func appsAndChannelsAreListedWithoutSecrets() throws {
    try withDelivery { delivery throws in
      try RunningCompanion(delivery, "run").end(expecting: 0)
      let bare = try RunningCompanion(delivery, "status")
      try bare.end(expecting: 0)
      #expect(
        bare.output.hasSuffix(
          """

          Notifications go to
            Apple: not set (APNS_KEY_ID APNS_TEAM_ID APNS_BUNDLE_ID APNS_PRIVATE_KEY)
            Android: not set (FCM_SERVICE_ACCOUNT)
            Browsers: not set (WEBPUSH_VAPID_KEY)

          """), "\(bare.output)")
      try withFCM { fake throws in
        let key = testPrivateKey.replacing("\n", with: "\\n")
        let app = #""team_id":"TEAM123456","key_id":"KEY1234567","key":"\#(key)""#
        let environment = [
          "APNS_APPS":
            #"[{"name":"One","bundle_id":"com.example.one",\#(app)},{"name":"com.example.two","bundle_id":"com.example.two","host":"sandbox",\#(app)}]"#,
          "FCM_SERVICE_ACCOUNT": fake.serviceAccount, "WEBPUSH_VAPID_KEY": testPrivateKey,
          "SWITCHBOARD_ADMINISTRATOR": "a@example.org",
        ]
        let status = try RunningCompanion(delivery, "status", changing: environment)
        try status.end(expecting: 0)
        let point = try P256PrivateKey(pem: testPrivateKey).publicKey().uncompressedPoint
        let publicKey = base64URLEncoded(point)
        #expect(
          status.output.hasSuffix(
            """

            Notifications go to
              Apple: One (com.example.one) of team TEAM123456, first at https://api.push.apple.com
              Apple: com.example.two of team TEAM123456, first at https://api.sandbox.push.apple.com
              Android: Firebase project \(FakeFCM.project), as \(FakeFCM.account)
              Browsers: with the public key \(publicKey.prefix(16))…

            """), "\(status.output)")
        let json = try RunningCompanion(delivery, "status --json", changing: environment)
        try json.end(expecting: 0)
        #expect(
          json.output.contains(
            #""fcm":{"project":"\#(FakeFCM.project)","account":"\#(FakeFCM.account)"},"webpush":{"public_key":"\#(publicKey)"}}"#
          ), "\(json.output)")
        #expect(
          json.output.contains(
            #""channels":{"apns":[{"name":"One","bundle_id":"com.example.one","team_id":"TEAM123456","host":"#
          ))
        for output in [status.output, json.output] {
          #expect(!output.contains("PRIVATE KEY"))
          for line in testPrivateKey.split(separator: "\n") { #expect(!output.contains(line)) }
        }
      }
    }
  }

  /// A server that accepts connections and never answers, and a server that does not run.
  @Test(arguments: [true, false])
  func withoutADatabaseCheckNamesItFirstAndBlamesNoChannel(isFrozen: Bool) throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        let path = "/tmp/switchboard-frozen-\(UUID().uuidString.prefix(8))"
        let socket = Glibc.socket(
          AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer {
          close(socket)
          unlink(path)
        }
        if isFrozen {
          let isBound = withAddress(of: path) { bind(socket, $0, $1) } == 0
          try #require(isBound && listen(socket, 16) == 0)
        }
        let check = try RunningCompanion(
          delivery, "check",
          changing: [
            "SWITCHBOARD_DB_SOCKET": path, "FCM_SERVICE_ACCOUNT": fake.serviceAccount,
            "SWITCHBOARD_ADMINISTRATOR": "a@example.org",
          ])
        try check.end(expecting: 1)
        let lines = check.output.split(separator: "\n")
        #expect(lines.first?.hasPrefix("PROBLEM  the database does not answer: ") == true)
        #expect(lines.count { $0.hasPrefix("PROBLEM") } == 1, "\(check.output)")
        let status = try RunningCompanion(
          delivery, "status", changing: ["SWITCHBOARD_DB_SOCKET": path])
        try status.end(expecting: 1)
        #expect(
          status.output.hasPrefix(
            "The site cannot answer requests.\n\ndatabase\n  The database does not answer.\n"))
      }
    }
  }

  @Test func aDatabaseThatDoesNotAnswerIsToldToo() throws {
    try withDelivery { delivery throws in
      let status = try RunningCompanion(
        delivery, "status", changing: ["SWITCHBOARD_DB_SOCKET": "\(delivery.folder)/none"])
      try status.end(expecting: 1)
      #expect(status.output.contains("The site cannot answer requests."))
      #expect(status.output.contains("database\n  The database does not answer.\n"))
    }
  }
}
