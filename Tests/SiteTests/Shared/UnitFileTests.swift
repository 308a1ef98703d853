import Foundation
import Support
import Testing

/// Checks of the programs' unit files by systemd.
@Suite struct UnitFileTests {
  private static let names = [
    "responder/switchboard-responder.service", "responder/switchboard-responder.socket",
    "companion/switchboard-companion.service", "companion/switchboard-companion.socket",
    "companion/switchboard-companion.timer", "companion/switchboard-failure@.service",
    "companion/switchboard-connections.service",
    "companion/switchboard-connections-again.service", "relay/switchboard-relay.service",
    "relay/switchboard-relay.socket",
  ]

  /// Copies the units into a folder. Only the paths of the programs are replaced, because systemd
  /// checks that they exist.
  private func withUnits(_ body: (_ folder: String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for name in Self.names {
      let unit = try text(of: name)
        .replacingOccurrences(of: "/usr/local/bin", with: programFolder.path())
        .replacingOccurrences(
          of: "/usr/local/share/switchboard",
          with: projectFolder.appending(path: "Sources/companion").path())
      let copy = folder.appending(path: URL(filePath: name).lastPathComponent)
      try unit.write(to: copy, atomically: true, encoding: .utf8)
    }
    try body(folder.path())
  }

  private func text(of name: String) throws -> String {
    try String(contentsOf: projectFolder.appending(path: "Sources/\(name)"), encoding: .utf8)
  }

  /// Writes the drop-in from the comments in the responder's unit, for MariaDB on another host.
  private func writeDropIn(into folder: String) throws {
    let dropIn = try text(of: "responder/switchboard-responder.service").split(separator: "\n")
      .filter { $0.hasPrefix("#   ") }.map { $0.dropFirst(4) }.joined(separator: "\n")
    try #require(dropIn.hasPrefix("[Service]\n"))
    let folder = URL(filePath: "\(folder)/switchboard-responder.service.d")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try dropIn.write(to: folder.appending(path: "a.conf"), atomically: true, encoding: .utf8)
  }

  @Test func systemdFindsNothingWrong() throws {
    try withUnits { folder in
      try writeDropIn(into: folder)
      let units = Self.names.map { "\(folder)/\(URL(filePath: $0).lastPathComponent)" }
      let outcome = Site.run(["systemd-analyze", "verify", "--man=no"] + units)
      #expect(outcome.status == 0)
      #expect(outcome.output == "", "a complaint is no failure to systemd-analyze")
    }
  }

  /// The threshold is in tenths of the exposure of `systemd-analyze security`.
  @Test(arguments: [
    ("responder", false, 10), ("responder", true, 10), ("companion", false, 12),
    ("relay", false, 12),
    ("failure@", false, 15), ("connections", false, 15),
  ])
  func aBrokenProgramReachesLittle(_ program: String, dropIn: Bool, threshold: Int) throws {
    try withUnits { folder in
      if dropIn { try writeDropIn(into: folder) }
      let outcome = Site.run([
        "systemd-analyze", "security", "--offline=true", "--no-pager",
        "--threshold=\(threshold)", "\(folder)/switchboard-\(program).service",
      ])
      #expect(outcome.status == 0, "\(outcome.output)")
    }
  }

  /// Memory and tasks of each program are limited, so an attacker cannot use up the machine.
  @Test(arguments: names.filter { $0.hasSuffix(".service") })
  func everyProgramHasABound(_ name: String) throws {
    let lines = try text(of: name).split(separator: "\n")
    for setting in ["MemoryMax", "TasksMax"] {
      #expect(lines.contains { $0.hasPrefix("\(setting)=") }, "\(setting)")
    }
  }
}
