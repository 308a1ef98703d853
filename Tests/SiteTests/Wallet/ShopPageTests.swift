import Foundation
import Support
import Testing

/// The commands and the reader of statements of the manual's page for shops, against a site.
@Suite(.serialized, .enabled(if: WebServer.ofTests == .nginx)) struct ShopPageTests {
  @Test func eachExampleWorksAsItStandsThere() async throws {
    try await withSite(hasFakes: true) { site in
      let page = try ManualPage("shop")
      let commands = page.listings(in: "sh")
      try #require(commands.count == 7)
      let ann = try site.signUpPayer()
      let shop = try Shop(at: site, addedBy: commands[0])

      let begun = try shop.run(commands[1...3].joined())
      let lines = begun.split(separator: "\n").map(String.init)
      try #require(lines.count == 2, "\(begun)")
      #expect(try members(of: lines[0]) == members(of: page.listings(in: "json")[0]))
      #expect(lines[1].contains(#""status":"pending""#), "\(begun)")
      #expect(try shop.run(commands[1...2].joined()) == lines[0] + "\n")
      let payment = try #require(begun.firstMatch(of: /pay_[A-Za-z0-9_-]{22}/)?.output)
      try site.pay(String(payment), by: ann)

      let known = "SITE=\(site.url) PAYMENT=\(payment)\n"
      let first = try shop.run(known + commands[4])
      #expect(first.hasPrefix(#"{"valid":true,"alreadyReceived":false,"payment":{"#), "\(first)")
      let again = try shop.run(known + commands[4])
      #expect(again.hasPrefix(#"{"valid":true,"alreadyReceived":true,"payment":{"#), "\(again)")

      let token = try shop.run(known + commands[4].split(separator: "\n")[0] + "\necho $TOKEN")
        .trimmed
      let reader = try #require(page.listings(in: "python").first { $0.contains("import jwt") })
      #expect(read(token, with: reader, as: shop.id, at: site) == "\(payment) 12.50 CAD\n")
      let forged = token.replacing(/\.[^.]*$/, with: ".\(String(repeating: "A", count: 86))")
      #expect(
        read(forged, with: reader, as: shop.id, at: site).contains("InvalidSignatureError"))
      #expect(
        read(token, with: reader, as: "another", at: site).contains("InvalidAudienceError"))

      let refunded = try shop.run(known + commands[5])
      #expect(refunded.contains(#""status":"refunded""#), "\(refunded)")
      let second = commands[2].replacing("1001", with: "1002")
      let cancelled = try shop.run(commands[1] + second + commands[6])
      #expect(cancelled.contains(#""status":"cancelled""#), "\(cancelled)")
    }
  }

  /// The answer of the page's program.
  private func read(
    _ token: String, with program: String, as merchant: String, at site: Site
  ) -> String {
    let script = """
      import sys
      site, merchant_id, token = sys.argv[1:]
      \(program)
      claims = read_statement(token)
      print(claims["jti"], claims["amount"], claims["currency"])
      """
    return runProgram("/usr/bin/python3", ["-c", script, site.url, merchant, token]).output
  }

  private func members(of json: String) throws -> Set<String> {
    let object = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
    return Set(try #require(object).keys)
  }
}

/// A merchant that an administrator has added with the commands of the page.
private struct Shop {
  let id: String
  private let site: Site
  private let key: String
  private let folder: String

  /// Points the webhooks at the shop of the fakes, which refuses them: they have another secret.
  init(at site: Site, addedBy commands: String) throws {
    folder = "\(site.state)/developer"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let lines = commands.split(separator: "\n").map(String.init)
    try #require(lines.count == 2)
    let added = site.administratorsShell(lines[0], in: folder).output
    id = try #require(added.firstMatch(of: /"id":"([^"]+)"/)).1.description
    key = try #require(added.firstMatch(of: /"api_key":"(msk_[^"]+)"/)).1.description
    self.site = site
    let port = try String(contentsOfFile: "\(site.state)/shop/port", encoding: .utf8).trimmed
    let address = "http://127.0.0.1:\(port)"
    let set = lines[1].replacing("https://shop.example.com", with: address)
    let secret = site.administratorsShell("ID=\(id)\n\(set)", in: folder).output.trimmed
    #expect(secret.hasPrefix("whsec_"), "\(secret)")
    for secret in [key, secret] { Evidence.keep(secret: secret) }
  }

  /// The output of commands of the page.
  func run(_ commands: String) throws -> String {
    let own = commands.replacing("msk_…", with: key)
      .replacing("https://switchboard.example.org", with: site.url)
    let outcome = site.administratorsShell("set -e\n\(own)", in: folder)
    try #require(outcome.status == 0, "\(outcome.output)")
    return outcome.output
  }
}
