import Base
import Foundation
import Support
import Testing

/// Tries faults and compares the answers to clients, the reports and the repair with the manual.
/// Tries the first two faults of each site; `SWITCHBOARD_FAULTS=all` tries all, which takes some
/// minutes. Needs root for the full disks.
@Suite struct FaultTableTests {
  @Test(arguments: Fault.Group.allCases)
  func eachFaultIsNamedAndMendedAsTheManualSays(group: Fault.Group) async throws {
    let folder = try FaultSite.makeMailCommand()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let securePort = freePort()
    var environment = [
      "CHECK_INTERVAL_SECONDS": "1", "SWITCHBOARD_MAIL_COMMAND": "\(folder)/mail",
      "SWITCHBOARD_ALLOWED_ORIGINS": "tauri://localhost",
      "SWITCHBOARD_METRICS_FILE": "\(folder)/switchboard.prom",
    ]
    if group == .parts {
      environment["SWITCHBOARD_PUBLIC_URL"] = "https://localhost:\(securePort)"
    }
    try await withSite(environment: environment, hasFakes: true, hasOwnMounts: true) { site in
      let broken = try FaultSite(site, folder: folder, securePort: securePort)
      if group == .parts { try broken.showCertificate(from: "env") }
      try #require(try holds { try broken.isWell() })
      for fault in FaultTable.areAllTried ? group.faults : Array(group.faults.prefix(2)) {
        guard let row = try broken.row(of: fault) else { continue }
        try FaultTable.expect(row)
      }
    }
  }

  @Test(.disabled(if: FaultTable.isWritten, "The table is being written"))
  func theManualTellsOfTheseFaultsAndNoOthers() throws {
    let names = Fault.Group.allCases.flatMap(\.faults).map(\.name)
    #expect(try FaultTable.rows().map(FaultTable.name(in:)) == names)
    #expect(names.count >= 20)
  }
}

extension FaultSite {
  /// Causes `fault`, waits for the reports, repairs it, and waits until all is well.
  ///
  /// - Returns: the row of the table; nil after an issue.
  fileprivate func row(of fault: Fault) throws -> String? {
    hurry()
    // A mail that is being sent when the fault begins may be sent twice.
    try #require(holds { try site.sql("SELECT 1 FROM outbox WHERE state = 'open'").isEmpty })
    try fault.inject(self)
    let deadline = ContinuousClock.now + .seconds(120)
    try move()
    hurry()
    let clients = try answers(to: fault.requests)
    agePasses()
    var told = Told()
    let isTold = try holds(within: deadline - .now) {
      told.status = told.status ?? sentence(about: fault)
      told.health = told.health ?? health(about: fault)
      told.alert = try told.alert ?? alert(about: fault)
      if told.isWhole { return true }
      usleep(300_000)
      return false
    }
    #expect(isTold, "\(fault.name): \(clients), \(told)")
    try fault.mend(self)
    let isMended = try holds(within: .seconds(120)) { try isWell() }
    #expect(isMended, "\(fault.name): \(site.companion("status").output)")
    var unsent: [String] = []
    // A sender that could not record its outcomes keeps its lease for two minutes.
    let isSent = try holds(within: .seconds(180)) {
      unsent = try self.unsent()
      return unsent.isEmpty
    }
    #expect(isSent, "\(fault.name): \(unsent)")
    guard isTold, isMended else { return nil }
    let cells = [fault.name, clients] + told.cells(in: site) + [fault.mended]
    return "| \(cells.joined(separator: " | ")) |"
  }
}

/// The reports of a fault, in the table's words.
private struct Told {
  var status: String?
  var health: String?
  var alert: String?

  var isWhole: Bool { status != nil && health != nil && alert != nil }

  func cells(in site: Site) -> [String] {
    let sentence = status?.replacing(/(version|for) \d+/) { "\($0.1) N" }
      .replacing(/\d+(\.\d+)? seconds/, with: "N seconds").replacing(site.state, with: "…")
    return [sentence, health, alert].map { $0 ?? "" }
  }
}
