import ArgumentParser

/// The outside world as it is offline: servers that answer as the real ones do, and on request fail as
/// they do.
@main
struct Fakes: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "switchboard-fakes", abstract: "Servers to test Switchboard against.",
    subcommands: [APNs.self])
}
