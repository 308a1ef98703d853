import Foundation
import Support
import Testing

/// The commands of `switchboard` in the manual's pages for administrators, unchanged.
///
/// `Tests/Boot/run` follows the page Install, `Tests/SharedHosting/run` the page Shared hosting, `RotationTests`
/// the rotation of keys.
@Suite(.serialized, .enabled(if: WebServer.ofTests == .nginx)) struct ManualCommandTests {
  /// The commands in a page's blocks with the mark `sh`, each with its continuation lines.
  private func commands(on page: String) throws -> [String] {
    try ManualPage(page).listings(in: "sh").flatMap {
      $0.replacing("\\\n", with: " ").split(separator: "\n").map(String.init)
    }
  }

  @Test(arguments: [
    ("operate", "switchboard ", 5), ("data-model", "switchboard ", 1),
    ("monitor", "switchboard ", 3),
    ("data-model", "mariadb --defaults-file=", 1),
  ])
  func eachWorksAsItStandsThere(page: String, beginning: String, least: Int) async throws {
    try await withSite(hasFakes: true) { site in
      _ = try site.signUp()
      let user = try site.issueKey(for: 1_234_567)
      let token = "740f4707bebcf74f" + String(repeating: "0", count: 48)
      let registered = site.curl(
        "/register", "--header", user.header, "--data",
        #"{"user_id":"1234567","device_token":"\#(token)"}"#)
      #expect(registered.status == 200, "\(registered.body)")
      let folder = "\(site.state)/administrator"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try "secret\n".write(toFile: "\(folder)/client-secret", atomically: true, encoding: .utf8)
      let found = try commands(on: page).filter { $0.hasPrefix(beginning) }
      #expect(found.count >= least)
      for command in found {
        let own = command.replacing(".build/site/", with: "\(site.state)/")
        let outcome = site.administratorsShell(own, in: folder)
        // A check may report a missing setting; its command line is still valid.
        let isReport = ["status", "check"].contains(command.split(separator: " ")[1])
        #expect(
          outcome.status == 0 || isReport && outcome.status == 1, "\(command): \(outcome.output)")
        #expect(!outcome.output.contains("Usage:"), "\(command): \(outcome.output)")
      }
    }
  }
}
