import ArgumentParser
import Foundation

/// Offline servers that answer, and on request fail, like the real services.
@main
struct Fakes: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "switchboard-fakes", abstract: "Servers to test Switchboard against.",
    subcommands: [APNs.self, FCM.self, OGS.self, Bank.self])
}

let portHelp: ArgumentHelp = "0 takes the one that the folder names, or else a free one."

/// Makes a server with `make`, which returns it with its port, and writes the port to `FOLDER/port`
/// and standard output.
func listening<Server>(
  on port: UInt16, as folder: String, _ make: (UInt16) throws -> (Server, UInt16)
) throws -> Server {
  let file = "\(folder)/port"
  let before = try? text(of: file)
  let known = port == 0 ? before.flatMap { UInt16($0.filter(\.isNumber)) } ?? 0 : port
  let (server, actual) = try known == port ? make(port) : (try? make(known)) ?? make(port)
  try "\(actual)\n".write(toFile: file, atomically: true, encoding: .utf8)
  print("port \(actual)")
  fflush(nil)
  return server
}

func text(of path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
