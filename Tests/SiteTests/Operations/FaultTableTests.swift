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
      try wait(for: "a site without problems") { try broken.isWell() }
      for fault in FaultTable.areAllTried ? group.faults : Array(group.faults.prefix(2)) {
        try FaultTable.expect(broken.row(of: fault))
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
  /// - Returns: the row of the table.
  fileprivate func row(of fault: Fault) throws -> String {
    hurry()
    // A mail that is being sent when the fault begins may be sent twice.
    try wait(for: "the end of all open mails") {
      try site.sql("SELECT 1 FROM outbox WHERE state = 'open'").isEmpty
    }
    try fault.inject(self)
    try move()
    hurry()
    let clients = try answers(to: fault.requests)
    agePasses()
    var told = Told()
    try wait(for: "reports of “\(fault.name)”, so far \(told)", pause: 300_000) {
      told.status = told.status ?? sentence(about: fault)
      told.health = told.health ?? health(about: fault)
      told.alert = try told.alert ?? alert(about: fault)
      return told.isWhole
    }
    try fault.mend(self)
    try wait(for: "the repair of “\(fault.name)”: \(site.companion("status").output)") {
      try isWell()
    }
    var unsent: [String] = []
    // A sender that could not record its outcomes keeps its lease for two minutes.
    try wait(for: "what “\(fault.name)” has delayed: \(unsent)") {
      unsent = try self.unsent()
      return unsent.isEmpty
    }
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
