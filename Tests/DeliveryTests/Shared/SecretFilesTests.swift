import Foundation
import Support
import Testing

@testable import Delivery

/// Files of secrets that every user of the host can read.
@Suite struct SecretFilesTests {
  private func withSecrets(_ body: (_ folder: String) throws -> Void) throws {
    try withFolder { folder throws in
      try #require(chmod(folder.folder, 0o755) == 0)
      let secrets = "\(folder.folder)/secrets"
      try FileManager.default.createDirectory(atPath: secrets, withIntermediateDirectories: false)
      for name in ["jwt-keys", "own-idea", "companion-public-keys"] {
        try Data("x".utf8).write(to: URL(filePath: "\(secrets)/\(name)"))
        try #require(chmod("\(secrets)/\(name)", 0o644) == 0)
      }
      try #require(chmod(secrets, 0o755) == 0)
      try body(secrets)
    }
  }

  @Test func eachIsNamedButNoPublicKey() throws {
    try withSecrets { secrets in
      let files = SecretFiles(in: secrets)
      #expect(files.exposed == ["\(secrets)/jwt-keys", "\(secrets)/own-idea"])
      #expect(files.problem == "Anybody on this host can read jwt-keys, own-idea in \(secrets).")
    }
  }

  @Test(arguments: [
    (0o600, 0o755, false), (0o640, 0o755, false), (0o604, 0o755, true), (0o602, 0o755, true),
    (0o644, 0o700, false), (0o644, 0o711, true), (0o644, 0o754, false),
  ])
  func modesOfFileAndFolderDecide(file: UInt32, folder: UInt32, isExposed: Bool) throws {
    try withSecrets { secrets in
      let path = "\(secrets)/jwt-keys"
      try #require(chmod("\(secrets)/own-idea", 0o600) == 0)
      try #require(chmod(path, mode_t(file)) == 0 && chmod(secrets, mode_t(folder)) == 0)
      #expect(SecretFiles(in: secrets).exposed == (isExposed ? [path] : []))
      #expect(SecretFiles(files: [path]).exposed == (isExposed ? [path] : []))
    }
  }

  /// A link counts as its target, with the folders on the way to the target.
  @Test func aLinkIsFollowed() throws {
    try withSecrets { secrets in
      try #require(chmod("\(secrets)/jwt-keys", 0o600) == 0)
      let link = "\(secrets)/apns-apps"
      try FileManager.default.createSymbolicLink(
        atPath: link, withDestinationPath: "\(secrets)/own-idea")
      #expect(SecretFiles(in: secrets).exposed.contains(link))
      try #require(chmod("\(secrets)/own-idea", 0o600) == 0)
      #expect(SecretFiles(in: secrets).exposed == [])
    }
  }

  @Test(arguments: [
    ("MASTER_API_KEY=abc", true), ("  APNS_PRIVATE_KEY='x'", true), ("MASTER_API_KEY=", false),
    ("MASTER_API_KEY=\"\"", false), ("# MASTER_API_KEY=abc", false),
    ("MASTER_API_KEY_FILE=/x", false), ("SWITCHBOARD_ENV=preview", false),
  ])
  func aSecretAmongTheSettingsIsNamed(line: String, isExposed: Bool) throws {
    try withSecrets { secrets in
      let parent = secrets.dropLast("/secrets".count)
      for name in ["jwt-keys", "own-idea"] { try #require(chmod("\(secrets)/\(name)", 0o600) == 0) }
      let file = "\(parent)/environment-companion"
      try Data("A=b\n\(line)\n".utf8).write(to: URL(filePath: file))
      try #require(chmod(file, 0o644) == 0)
      #expect(SecretFiles(in: secrets).exposed == (isExposed ? [file] : []))
      try #require(chmod(file, 0o640) == 0)
      #expect(SecretFiles(in: secrets).exposed == [])
    }
  }

  @Test func whatIsNotThereIsNoProblem() {
    let files = SecretFiles(in: "/nonexistent/secrets", files: ["/nonexistent/file"])
    #expect(files.problem == nil)
    #expect(!files.isEmpty)
    #expect(SecretFiles().isEmpty)
  }

  /// Runs the program itself: `check`, `status`, and the metrics.
  @Test func checkAndStatusAndMetricsNameThem() throws {
    try withDelivery { delivery throws in
      try withSecrets { secrets in
        let settings = ["SWITCHBOARD_SECRETS_DIRECTORY": secrets]
        let sentence = "Anybody on this host can read jwt-keys, own-idea in \(secrets)."
        let check = try RunningCompanion(delivery, "check", changing: settings)
        try check.end(expecting: 1)
        #expect(check.output.contains("PROBLEM  \(sentence)\n"))
        try RunningCompanion(delivery, "run", changing: settings).end(expecting: 0)
        let status = try RunningCompanion(delivery, "status", changing: settings)
        try status.end(expecting: 1)
        #expect(status.output.contains("secrets, since "))
        #expect(status.output.contains("\n  \(sentence)\n"))
        let metrics = try RunningCompanion(delivery, "metrics", changing: settings)
        try metrics.end(expecting: 0)
        #expect(metrics.output.contains("switchboard_problem{name=\"secrets\"} 1\n"))
        try #require(chmod(secrets, 0o700) == 0)
        try RunningCompanion(delivery, "run", changing: settings).end(expecting: 0)
        try RunningCompanion(delivery, "status", changing: settings).end(expecting: 0)
      }
    }
  }
}
