import ArgumentParser
import Foundation
import Support

/// online-go.com over HTTP.
struct OGS: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ogs",
    abstract: "online-go.com.",
    discussion: """
      \(GameFolder.grammar)

      The folder gets port (the port number, when connections are taken). It ends on SIGTERM.
      """)

  @Option(help: "Where the users and their games are.")
  var folder: String
  @Option(help: portHelp)
  var port: UInt16 = 0
  @Option(help: "More are throttled.")
  var requestsPerSecond = 20

  func run() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let games = GameFolder(folder)
    let site = try listening(on: port, as: folder) { port in
      guard
        let site = FakeOGS(
          port: port, requestsPerSecond: requestsPerSecond, answer: games.answer(to:))
      else { throw ValidationError("port \(port) cannot be used") }
      return (site, site.port)
    }
    withExtendedLifetime(site) { while true { pause() } }
  }
}
