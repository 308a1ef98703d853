import Cryptography
import Foundation
import Support
import Testing

/// A player with phones of two apps, an Android phone and a browser: from a move to each push
/// service.
@Suite(.serialized) struct TurnDevicesTests {
  private static let apps = ["com.example.first", "com.example.second"]
  private static let tokens = ["a", "b"].map { String(repeating: $0, count: 64) }
  private static let android = "cOd3:APA91bH_" + String(repeating: "z", count: 120)

  @Test func eachDeviceIsToldInItsLanguageAndTakesTheAlertAwayAfterTheMove() async throws {
    let outside = try Outside()
    defer { outside.end() }
    outside.play([])
    try await withSite(environment: outside.environment) { site in
      let player = try site.issueKey(for: 7)
      let (key, secret) = (try P256PrivateKey.generate(), randomBytes(16))
      let keys = """
        {"p256dh":"\(base64URLEncoded(try key.publicKey().uncompressedPoint))",\
        "auth":"\(base64URLEncoded(secret))"}
        """
      func register(_ members: String, _ fields: String...) {
        let answer = site.curl(
          "/register",
          ["--data", #"{"user_id":"7",\#(members)}"#, "--header", player.header]
            + fields.flatMap { ["--header", $0] })
        #expect(answer.status == 200, "\(answer.body)")
      }
      // Like the contract's app, whose system sends its language.
      register(#""device_token":"\#(Self.tokens[0])""#, "Accept-Language: fr-FR,fr;q=0.9")
      register(
        #""device_token":"\#(Self.tokens[1])","language":"de""#,
        "X-App-Bundle-ID: \(Self.apps[1])")
      register(#""device_token":"\#(Self.android)","platform":"android","language":"es_MX""#)
      register(
        """
        "subscription":{"endpoint":"\(outside.browsers.endpoint("one"))","expirationTime":null,"keys":\(keys)},\
        "language":"fa"
        """)
      // A device that registers after the notification of a turn gets no notification of that turn.
      outside.play([FakeGame(name: "test game", lastMove: "1000")])
      try wait(for: "a notification of each device") {
        try outside.pushes().count == 2 && !outside.google.received.isEmpty
          && !outside.browsers.accepted.isEmpty
      }
      let pushes = try outside.pushes().sorted { $0.token < $1.token }
      #expect(pushes.map(\.token) == Self.tokens)
      #expect(pushes.map(\.topic) == Self.apps)
      #expect(pushes.allSatisfy { $0.status == 200 })
      #expect(
        try pushes.map { try alert(in: $0.payload) } == [
          "C’est à vous de jouer : test game", "Sie sind am Zug: test game",
        ])
      let android = try #require(outside.google.received.first)
      #expect(android.token == Self.android && android.status == 200)
      #expect(android.message.contains("Es su turno en: test game"))
      let sent = try #require(outside.browsers.accepted.first)
      let content = try EncryptedContent(sent.body).open(as: key, authentication: secret)
      #expect(
        try alert(in: String(decoding: content, as: UTF8.self))
          == "نوبت شماست: \u{2068}test game\u{2069}")

      outside.play([FakeGame(name: "test game", player: "8", lastMove: "2000")])
      try wait(for: "a removal on each device") {
        try outside.pushes().count == 4 && outside.google.received.count == 2
      }
      let removal = #""notifications":[{"id":"turn-7-1","last_move":1000}]"#
      let removals = try outside.pushes().suffix(2)
      #expect(removals.allSatisfy { $0.payload.contains(removal) })
      #expect(Set(removals.map(\.token)) == Set(Self.tokens))
      #expect(outside.google.received.last?.message.contains("remove_notifications") == true)
      #expect(outside.browsers.accepted.count == 1, "a browser would have to show it")
      try wait(for: "the end of all deliveries") {
        try site.sql("SELECT COUNT(*) FROM deliveries WHERE state <> 'delivered'") == "0\n"
      }
    }
  }

  private func alert(in payload: String) throws -> String? {
    let object = try JSONSerialization.jsonObject(with: Data(payload.utf8)) as? [String: Any]
    return (object?["aps"] as? [String: Any])?["alert"] as? String
  }

  /// Fakes of online-go.com, Apple, Google and the browsers' push service.
  private final class Outside {
    let google = FakeFCM()
    let browsers: FakePushService
    private let ogs: FakeOGS
    private let apple = Process()
    /// Apple's fake ends when this handle closes, however this process ends.
    private let lifeline: FileHandle
    private let folder = makeTemporaryFolder()
    private let vapidKey: String

    init() throws {
      let ends = makeLifeline()
      lifeline = ends.lifeline
      ogs = try #require(FakeOGS())
      vapidKey =
        Site.run(
          [builtProgram("switchboard-companion").path(), "keys", "vapid", "\(folder)/vapid-key"]
        ).output.trimmed
      browsers = try FakePushService(applicationServerKey: vapidKey)
      let made = Site.run([
        "openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
        "\(folder)/key.pem",
      ])
      try #require(made.status == 0, "\(made.output)")
      _ = Site.run([
        "openssl", "pkey", "-in", "\(folder)/key.pem", "-pubout", "-out", "\(folder)/public.pem",
      ])
      apple.executableURL = builtProgram("switchboard-fakes")
      apple.arguments = [
        "apns", "--folder", "\(folder)/apns", "--topic",
        TurnDevicesTests.apps.joined(separator: ","),
        "--public-key", "\(folder)/public.pem", "--until-input-ends",
      ]
      apple.standardInput = ends.input
      apple.standardOutput = FileHandle.nullDevice
      try apple.run()
      wait(for: "the port of the fake of APNs") {
        FileManager.default.fileExists(atPath: "\(folder)/apns/port")
      }
    }

    func end() {
      // A thread of tests blocks signals, and its child processes inherit the mask.
      kill(apple.processIdentifier, SIGKILL)
      apple.waitUntilExit()
      google.end()
      browsers.end()
      ogs.end()
      try? FileManager.default.removeItem(atPath: folder)
    }

    var environment: [String: String] {
      let listed = TurnDevicesTests.apps.map { app in
        """
        {"name":"\(app)","bundle_id":"\(app)","team_id":"TEAM123456","key_id":"KEY1234567",\
        "key_file":"\(folder)/key.pem"}
        """
      }
      // The file is complete when it exists, and the fake writes it before it accepts connections.
      let port = (try? String(contentsOfFile: "\(folder)/apns/port", encoding: .utf8)) ?? ""
      return [
        "CHECK_INTERVAL_SECONDS": "1",
        "SWITCHBOARD_SUBSTITUTES": "fcm=\(google.url),ogs=\(ogs.url)",
        "APNS_APPS": "[\(listed.joined(separator: ","))]",
        "APNS_ENDPOINT_OVERRIDE": "https://localhost:\(port.trimmed)",
        "APNS_CA_CERT": "\(folder)/apns/certificate.pem",
        "FCM_SERVICE_ACCOUNT": google.serviceAccount,
        "WEBPUSH_VAPID_PUBLIC_KEY": vapidKey, "WEBPUSH_VAPID_KEY_FILE": "\(folder)/vapid-key",
        "WEBPUSH_HOSTS": browsers.host, "WEBPUSH_CA_CERT": browsers.certificatesFile,
        "SWITCHBOARD_ADMINISTRATOR": "admin@example.org",
      ]
    }

    func play(_ games: [FakeGame]) { ogs.answer(7, .body(full(games))) }

    /// The pushes that Apple has accepted, in order.
    func pushes() throws -> [Push] {
      try String(contentsOfFile: "\(folder)/apns/received.jsonl", encoding: .utf8)
        .split(separator: "\n").map { try JSONDecoder().decode(Push.self, from: Data($0.utf8)) }
    }
  }
}
