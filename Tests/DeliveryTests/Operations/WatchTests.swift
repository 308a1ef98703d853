import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The companion's program, with a listening socket as its standard input.
@Suite(.serialized) struct WatchTests {
  @Test func aWakeUpStartsUrgentWorkAndASIGTERMEndsTheCompanion() throws {
    try withDelivery { delivery throws in
      let companion = try RunningCompanion(delivery, "watch")
      defer { companion.end() }
      let passes = "SELECT COUNT(*) FROM companion_status"
      wait(for: "a pass") { delivery.sql(passes) == "1" }
      for number in 1...2 {
        try companion.expectMail(of: delivery.requestCode("00000\(number)"))
      }
      companion.process.terminate()
      companion.process.waitUntilExit()
      #expect(companion.process.terminationReason == .exit)
      #expect(companion.process.terminationStatus == 0)
    }
  }

  @Test func aPartThatFailsIsLoggedAndWorksAgain() throws {
    try withDelivery { delivery throws in
      delivery.sql("RENAME TABLE outbox TO hidden")
      let companion = try RunningCompanion(delivery, "watch")
      defer { companion.end() }
      for part in ["pass", "worker for mails"] {
        let line = try Regex(
          #"<3>time=\S+ level=error msg="The \#(part) failed: MariaDB error 1146"#)
        wait(for: "the failure of the \(part) in the log") { companion.log.contains(line) }
      }
      delivery.sql("RENAME TABLE hidden TO outbox")
      try companion.expectMail(of: delivery.requestCode())
    }
  }

  /// Twelve workers and the pass meet the problem repeatedly.
  @Test func aDatabaseThatIsAwayIsLoggedOnce() throws {
    try withDelivery { delivery throws in
      let companion = try RunningCompanion(
        delivery, "watch", changing: ["SWITCHBOARD_DB_SOCKET": "\(delivery.folder)/none"])
      defer { companion.end() }
      wait(for: "a failure in the log") { companion.log.contains(" failed: MariaDB error 2002") }
      for _ in 1...3 { companion.wake() }
      companion.process.terminate()
      companion.process.waitUntilExit()
      #expect(companion.log.split(separator: "\n").count { $0.contains(" failed: ") } == 1)
    }
  }

  @Test func oneRunIsOnePass() throws {
    try withDelivery { delivery throws in
      let id = try delivery.requestCode()
      let companion = try RunningCompanion(delivery, "run")
      companion.process.waitUntilExit()
      #expect(companion.process.terminationStatus == 0)
      #expect(
        FileManager.default.fileExists(atPath: "\(delivery.folder)/mails/\(id).eml"))
    }
  }

  /// A run started by the wake socket also runs bank jobs, which a pass does not.
  @Test func oneRunDoesTheJobsOfBanks() throws {
    try withDelivery { delivery throws in
      let exchange = BankExchange(
        enrollmentID: timeOrderedUUID(milliseconds: 0), sealedCode: "", redirectURI: "",
        deviceID: timeOrderedUUID(milliseconds: 0), address: "192.0.2.1")
      _ = try delivery.responder().jobs.post(.bankEnrollment, exchange.json)
      let companion = try RunningCompanion(delivery, "run")
      companion.process.waitUntilExit()
      #expect(delivery.sql("SELECT state, attempts FROM jobs") == "done\t1")
      let end = try decoded(
        EnrollmentResult.self, from: Array(delivery.sql("SELECT result FROM jobs").utf8))
      #expect(end == .failed(.bankUnavailable))
    }
  }

  /// If a connection waits on the socket at the end of a run, systemd starts `run` again.
  @Test(arguments: [[:], ["SWITCHBOARD_COMPANION_KEYS": ""]])
  func aRunAcceptsAllConnectionsOfTheWakeSocket(_ changes: [String: String]) throws {
    try withDelivery { delivery throws in
      let companion = try RunningCompanion(delivery, "run", changing: changes, wakeUps: 3)
      companion.process.waitUntilExit()
      #expect((companion.process.terminationStatus == 0) == changes.isEmpty)
      #expect(!companion.isConnectionWaiting)
    }
  }

  @Test(arguments: ["run", "watch"])
  func aSocketFromSystemdThatDoesNotListenIsAWrongConfiguration(_ command: String) {
    let (status, output) = runProgram(
      "sh",
      [
        "-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$1\" 3</dev/null",
        builtProgram("switchboard-companion").path(), command,
      ])
    #expect(status == 78)
    #expect(output.contains("The socket from systemd must listen"))
  }

  /// Uses `systemd-socket-activate`, which passes a socket like systemd.
  @Test func aRunThatTheWakeSocketStartedIsWokenAgain() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .silence)
      let companion = try RunningCompanion(
        polling.delivery, "run", changing: polling.environment, socketIsSystemds: true)
      defer { companion.end() }
      companion.wake()
      wait(for: "the poll") { polling.site.isBeingAsked(7) }
      companion.expectAccept()
      try companion.expectMail(of: polling.delivery.requestCode())
      #expect(polling.site.isBeingAsked(7))
    }
  }

  @Test(arguments: ["watch", "run"])
  func aMailIsSentWhileAPollWaits(_ command: String) throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .silence)
      let companion = try RunningCompanion(
        polling.delivery, command, changing: polling.environment)
      defer { companion.end() }
      wait(for: "the poll") { polling.site.isBeingAsked(7) }
      try companion.expectMail(of: polling.delivery.requestCode())
      #expect(polling.site.isBeingAsked(7))
    }
  }

  @Test func aMailIsSentWhileAJobWaits() throws {
    try withPolling { polling throws in
      polling.site.answer(8, .silence)
      let companion = try RunningCompanion(
        polling.delivery, "watch", changing: polling.environment)
      defer { companion.end() }
      wait(for: "a pass") { polling.sql("SELECT COUNT(*) FROM companion_status") == "1" }
      _ = try polling.responder.jobs.post(.turnCheck, Array(#"{"user_id":8}"#.utf8))
      companion.wake()
      wait(for: "the poll of the job") { polling.site.isBeingAsked(8) }
      try companion.expectMail(of: polling.delivery.requestCode())
      #expect(polling.site.isBeingAsked(8))
    }
  }

  @Test func aSIGTERMLetsARunFinishWhatItHasBegun() throws {
    try withPolling { polling throws in
      for user in 7...8 as ClosedRange<Int64> {
        try polling.register(user)
        polling.site.answer(user, .body(full([FakeGame]())))
        polling.site.gate.close("\(user)")
      }
      let companion = try RunningCompanion(
        polling.delivery, "run", changing: polling.environment)
      defer { companion.end() }
      wait(for: "the first poll") { polling.site.total == 1 }
      companion.process.terminate()
      wait(for: "the notice of the stop") { companion.log.contains("Stopping: ") }
      polling.site.gate.openAll()
      companion.process.waitUntilExit()
      #expect(companion.process.terminationReason == .exit)
      #expect(companion.process.terminationStatus == 0)
      #expect(polling.site.total == 1)
      #expect(polling.sql("SELECT COUNT(*) FROM ogs_users WHERE checked_at IS NOT NULL") == "1")
    }
  }

  @Test func withoutItsSettingsTheCompanionSaysWhatIsMissing() throws {
    try withDelivery { delivery throws in
      let companion = try RunningCompanion(
        delivery, "run",
        changing: ["SWITCHBOARD_COMPANION_KEYS": "", "SWITCHBOARD_DB_USER": ""])
      companion.process.waitUntilExit()
      #expect(companion.process.terminationStatus != 0)
      #expect(companion.log.contains("SWITCHBOARD_COMPANION_KEYS is missing"))
      #expect(companion.log.contains("SWITCHBOARD_DB_USER is missing"))
    }
  }
}

/// `switchboard-companion` from the build of these tests, or from `SWITCHBOARD_BIN`.
final class RunningCompanion {
  let process = Process()
  private let socket: Int32
  private let path: String
  private let folder: String

  init(
    _ delivery: TestDelivery, _ command: String, changing changes: [String: String] = [:],
    wakeUps: Int = 0, socketIsSystemds: Bool = false, umask: String? = nil
  ) throws {
    folder = delivery.folder
    // The path is short, because the path of a unix socket holds 107 bytes.
    path = "/tmp/switchboard-wake-\(UUID().uuidString.prefix(8))"
    socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let status = withAddress(of: path) { bind(socket, $0, $1) }
    try #require(status == 0 && listen(socket, 16) == 0)
    let settings = delivery.account(of: "companion")
    let log = "\(folder)/log"
    try #require(FileManager.default.createFile(atPath: log, contents: nil))
    var environment = [
      "SWITCHBOARD_DB_SOCKET": settings.socket!, "SWITCHBOARD_DB_NAME": settings.database,
      "SWITCHBOARD_DB_USER": settings.user, "CHECK_INTERVAL_SECONDS": "86400",
      "SWITCHBOARD_COMPANION_KEYS": "c1:" + base64URLEncoded([UInt8](repeating: 7, count: 32)),
      "SWITCHBOARD_MAIL_DIRECTORY": "\(folder)/mails",
    ].merging(changes) { $1 }
    // No limit of time passes because the machine is slow.
    environment["SWITCHBOARD_SUBSTITUTES", default: ""] += ",slowness=1000"
    process.environment = environment
    let arguments = command.split(separator: " ").map(String.init)
    if socketIsSystemds {
      unlink(path)
      // The shell stays. systemd-socket-activate closes the descriptor by which Foundation learns
      // of the end of a process, and Foundation would then learn of no other process's end.
      process.executableURL = URL(filePath: "/bin/sh")
      process.arguments =
        ["-c", "\"$0\" \"$@\"; exit $?", "/usr/bin/systemd-socket-activate", "--listen=\(path)"]
        + environment.keys.map { "--setenv=\($0)" }
        + [builtProgram("switchboard-companion").path()] + arguments
      process.standardInput = FileHandle.nullDevice
    } else if let umask {
      process.executableURL = URL(filePath: "/bin/sh")
      process.arguments =
        ["-c", "umask \(umask); exec \"$0\" \"$@\"", builtProgram("switchboard-companion").path()]
        + arguments
      process.standardInput = FileHandle(fileDescriptor: socket)
    } else {
      process.executableURL = builtProgram("switchboard-companion")
      process.arguments = arguments
      process.standardInput = FileHandle(fileDescriptor: socket)
    }
    for _ in 0..<wakeUps { wake() }
    let output = "\(folder)/output"
    try #require(FileManager.default.createFile(atPath: output, contents: nil))
    process.standardOutput = FileHandle(forWritingAtPath: output)
    process.standardError = FileHandle(forWritingAtPath: log)
    try process.run()
  }

  deinit {
    close(socket)
    unlink(path)
  }

  func end() {
    // Foundation gives each process a group of its own.
    if process.isRunning { kill(-process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }

  var log: String { text(of: "log") }

  /// The program's standard output.
  var output: String { text(of: "output") }

  /// Never empty because of an error: tests expect that some words are missing.
  private func text(of file: String) -> String {
    String(decoding: try! Data(contentsOf: URL(filePath: "\(folder)/\(file)")), as: UTF8.self)
  }

  /// Connects as soon as the program listens, and closes the connection, like the responder.
  func wake() { close(connection()) }

  /// Connects as soon as the program listens, and waits until it closes the connection.
  func expectAccept() {
    let connection = connection()
    defer { close(connection) }
    wait(for: "the accept of a connection") {
      var polled = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
      return poll(&polled, 1, 0) == 1
    }
  }

  private func connection() -> CInt {
    let connection = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    wait(for: "a connection") { withAddress(of: path) { connect(connection, $0, $1) } == 0 }
    return connection
  }

  /// Wakes the companion and waits until it has sent this mail.
  func expectMail(of id: String) {
    wake()
    wait(for: "the mail") { FileManager.default.fileExists(atPath: "\(folder)/mails/\(id).eml") }
  }

  /// Whether a connection waits that the companion has not accepted.
  var isConnectionWaiting: Bool {
    var polled = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, 0) == 1
  }
}
