import ArgumentParser
import Foundation
import Support

/// A bank over HTTP.
struct Bank: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bank",
    abstract: "A bank whose people consent at once.",
    discussion: """
      \(FakeBank.Fault.grammar) FOLDER/cards.json is what it tells of everybody's cards, where there is such \
      a file. Its endpoints are /authorize, /token and /cards.

      The folder gets client-secret (unless it is there) and port (the port number, when connections are \
      taken). It ends on SIGTERM.
      """)

  @Option(help: "Where everything lies that it reads and writes.")
  var folder: String
  @Option(help: portHelp)
  var port: UInt16 = 0
  @Option(help: "By which it knows the site.")
  var clientID = "wsim"

  func run() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let secret = try clientSecret()
    let folder = folder
    let bank = try listening(on: port, as: folder) { port in
      guard
        let bank = FakeBank(
          port: port, clientID: clientID, clientSecret: secret, script: { script(in: folder) })
      else { throw ValidationError("port \(port) cannot be used") }
      return (bank, bank.port)
    }
    withExtendedLifetime(bank) { while true { pause() } }
  }

  private func clientSecret() throws -> String {
    let file = "\(folder)/client-secret"
    if !FileManager.default.fileExists(atPath: file) {
      try "\(UUID().uuidString)\n".write(toFile: file, atomically: true, encoding: .utf8)
    }
    return try text(of: file).trimmingCharacters(in: .newlines)
  }
}

/// The script in the folder's files. With an invalid fault, every endpoint answers with the error.
private func script(in folder: String) -> FakeBank.Script {
  var script = FakeBank.Script()
  // Both files are optional.
  if let cards = try? text(of: "\(folder)/cards.json") { script.cards = cards }
  for line in ((try? text(of: "\(folder)/faults")) ?? "").split(separator: "\n") {
    if let (endpoint, fault) = FakeBank.Fault.parse(line) {
      script.faults[endpoint] = fault
    } else {
      for endpoint in FakeBank.Endpoint.allCases {
        script.faults[endpoint] = .body("not as the grammar says: \(line)")
      }
    }
  }
  return script
}
