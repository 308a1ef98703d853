import Base
import Cryptography
import Foundation
import Support
import Testing

private let ownSecret = "whsec_" + base64Encoded([UInt8](0..<32))
private let otherSecret = "whsec_" + base64Encoded([UInt8](1..<33))

/// The three programs of the manual's page for shops that verify webhooks, unchanged.
@Suite struct WebhookVerifierTests {
  enum Language: String, CaseIterable { case php, python, swift }

  /// A request that a verifier judges.
  private struct Webhook: Encodable {
    var fields: [String: String]
    var body = #"{"type":"payment.confirmed","data":{"orderId":"Größe 1"}}"#
    var secret = ownSecret

    init(
      sentAt time: Int64 = Timestamp.now().seconds, signedWith secrets: [String] = [ownSecret]
    ) throws {
      fields = ["webhook-id": "msg_1", "webhook-timestamp": "\(time)"]
      try sign(with: secrets)
    }

    mutating func sign(with secrets: [String]) throws {
      fields["webhook-signature"] = try secrets.map {
        try signature(
          of: body, id: fields["webhook-id"]!, at: fields["webhook-timestamp"]!, with: $0)
      }.joined(separator: " ")
    }

    func with(_ change: (inout Webhook) throws -> Void) rethrows -> Webhook {
      var copy = self
      try change(&copy)
      return copy
    }

    func signedAgain(_ change: (inout Webhook) -> Void) throws -> Webhook {
      try with {
        change(&$0)
        try $0.sign(with: [secret])
      }
    }
  }

  /// The example of the specification of Standard Webhooks.
  @Test func theTestsSignAsTheStandardSays() throws {
    #expect(
      try signature(
        of: #"{"test": 2432232314}"#, id: "msg_p5jXN8AQM9LWM0D4loKWxJek", at: "1614265330",
        with: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test(arguments: Language.allCases)
  func genuineWebhooksAreAcceptedAndNoOthers(language: Language) throws {
    let now = Timestamp.now().seconds
    let genuine = try Webhook()
    let cases: [(name: String, webhook: Webhook, isGenuine: Bool)] = try [
      ("genuine", genuine, true),
      ("four minutes old", Webhook(sentAt: now - 240), true),
      ("four minutes early", Webhook(sentAt: now + 240), true),
      ("during a rotation, old first", Webhook(signedWith: [otherSecret, ownSecret]), true),
      ("during a rotation, new first", Webhook(signedWith: [ownSecret, otherSecret]), true),
      ("empty body", genuine.signedAgain { $0.body = "" }, true),
      ("other body", genuine.with { $0.body += " " }, false),
      ("other secret", genuine.with { $0.secret = otherSecret }, false),
      ("two other signatures", Webhook(signedWith: [otherSecret, otherSecret]), false),
      ("other id", genuine.with { $0.fields["webhook-id"] = "msg_2" }, false),
      ("other time", genuine.with { $0.fields["webhook-timestamp"] = "\(now - 9)" }, false),
      ("six minutes old", Webhook(sentAt: now - 360), false),
      ("six minutes early", Webhook(sentAt: now + 360), false),
      ("no number", genuine.signedAgain { $0.fields["webhook-timestamp"] = "nan" }, false),
      (
        "huge number",
        genuine.signedAgain {
          $0.fields["webhook-timestamp"] = String(repeating: "9", count: 5000)
        }, false
      ),
      ("no id", genuine.with { $0.fields["webhook-id"] = nil }, false),
      ("no time", genuine.with { $0.fields["webhook-timestamp"] = nil }, false),
      ("no signature", genuine.with { $0.fields["webhook-signature"] = nil }, false),
      ("empty signature", genuine.with { $0.fields["webhook-signature"] = "" }, false),
      ("not ASCII", genuine.with { $0.fields["webhook-signature"] = "v1,é" }, false),
      ("half a signature", genuine.with { $0.fields["webhook-signature"]!.removeLast(20) }, false),
      (
        "other version",
        genuine.with { $0.fields["webhook-signature"]!.replace("v1,", with: "v2,") }, false
      ),
    ]
    let folder = URL(filePath: makeTemporaryFolder())
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "cases.json")
    try JSONEncoder().encode(cases.map(\.webhook)).write(to: file)
    let command = try language.command(for: Self.listing(in: language), in: folder)
    let outcome = runProgram(command[0], command.dropFirst() + [file.path()])
    let answers = outcome.output.split(separator: "\n")
    try #require(answers.count == cases.count, "\(outcome)")
    for (answer, expected) in zip(answers, cases) {
      #expect(answer == "\(expected.isGenuine)", "\(expected.name)")
    }
  }

  /// The shop that newcomers start verifies as the page says.
  @Test func theShopUsesTheProgramOfThePage() throws {
    let shop = try String(
      contentsOf: projectFolder.appending(path: "nginx/shop.py"), encoding: .utf8)
    let function = try #require(
      try Self.listing(in: .python).firstMatch(of: /(?s)def is_genuine.*/)?.output)
    #expect(shop.contains(function))
  }

  private static func listing(in language: Language) throws -> String {
    let listings = try ManualPage("shop").listings(in: language.rawValue)
    return try #require(listings.first { $0.contains("whsec_") })
  }
}

/// The signature of Standard Webhooks.
private func signature(
  of body: String, id: String, at time: String, with secret: String
) throws -> String {
  let key = try #require(base64Decoded(String(secret.dropFirst("whsec_".count))))
  // HMAC fills a key with zeros, so these change nothing.
  let filled = key + [UInt8](repeating: 0, count: max(0, 32 - key.count))
  let code = hmacSHA256(
    "\(id).\(time).\(body)", with: try Key(id: "k", secret: Secret(copying: filled.span)))
  return "v1," + base64Encoded(code)
}

extension WebhookVerifierTests.Language {
  /// The command that calls the verifier of `listing` for each webhook of a file, and prints the answers.
  fileprivate func command(for listing: String, in folder: URL) throws -> [String] {
    let source = folder.appending(path: "main.\(rawValue)")
    try (beginning + listing + end).write(to: source, atomically: true, encoding: .utf8)
    switch self {
    case .php: return ["php", source.path()]
    case .python: return ["/usr/bin/python3", source.path()]
    case .swift:
      let openSSL = ["-I", projectFolder.appending(path: "Sources/COpenSSL").path()]
      let package = projectFolder.appending(path: "Tests/Fixtures/crypto/Crypto.swift").path()
      let object = folder.appending(path: "Crypto.o").path()
      let program = folder.appending(path: "main").path()
      for arguments in [
        ["-parse-as-library", "-wmo", "-module-name", "Crypto", "-emit-module", "-c", package],
        ["-I", folder.path(), source.path(), object],
      ] {
        let result = arguments.contains("-c") ? object : program
        let outcome = runProgram("swiftc", arguments + openSSL + ["-o", result])
        try #require(outcome.status == 0, "\(outcome.output)")
      }
      return [program]
    }
  }

  private var beginning: String { self == .php ? "<?php\n" : "" }

  private var end: String {
    switch self {
    case .php:
      """
      foreach (json_decode(file_get_contents($argv[1]), true) as $webhook) {
        $server = [];
        foreach ($webhook['fields'] as $name => $value)
          $server['HTTP_' . strtoupper(strtr($name, '-', '_'))] = $value;
        echo is_genuine($server, $webhook['body'], $webhook['secret']) ? "true\\n" : "false\\n";
      }
      """
    case .python:
      """
      import json, sys

      for webhook in json.load(open(sys.argv[1])):
          answer = is_genuine(webhook["fields"], webhook["body"].encode(), webhook["secret"])
          print(str(answer).lower())
      """
    case .swift:
      """
      struct Webhook: Decodable {
        let fields: [String: String]
        let body: String
        let secret: String
      }
      let file = try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1]))
      for webhook in try JSONDecoder().decode([Webhook].self, from: file) {
        print(isGenuine(webhook.fields, Data(webhook.body.utf8), webhook.secret))
      }
      """
    }
  }
}
