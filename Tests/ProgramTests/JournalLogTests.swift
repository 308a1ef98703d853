import Base
import Foundation
import Logging
import ProcessSupport
import SharedSettings
import Testing

@Suite struct JournalLogTests {
  @Test func everyEventIsOneLineWithItsPriority() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
    ) {
      var log = JournalLog.logger()
      log.logLevel = .trace
      log.trace("t")
      log.debug("d")
      log.info("i")
      log.notice("n")
      log.warning("w")
      log.error("e")
      log.critical("c")
      exit(0)
    }
    #expect(
      withoutTimes(result.standardErrorContent)
        == """
        <7>level=trace msg=t
        <7>level=debug msg=d
        <6>level=info msg=i
        <5>level=notice msg=n
        <4>level=warning msg=w
        <3>level=error msg=e
        <2>level=critical msg=c

        """)
  }

  @Test func aLineBeginsWithItsTime() async throws {
    let before = Timestamp.now().rfc3339
    let result = try await #require(
      processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
    ) {
      JournalLog.logger().info("written")
      exit(0)
    }
    let line = String(decoding: result.standardErrorContent, as: UTF8.self)
    let match = try #require(line.wholeMatch(of: /<6>time=(\S+) level=info msg=written\n/))
    #expect(before...Timestamp.now().rfc3339 ~= String(match.1))
  }

  /// The journal adds its own time.
  @Test func aLineOfTheJournalHasNoTime() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
    ) {
      var file = stat()
      #expect(fstat(STDERR_FILENO, &file) == 0)
      setenv("JOURNAL_STREAM", "\(file.st_dev):\(file.st_ino)", 1)
      JournalLog.logger().info("written")
      exit(0)
    }
    #expect(
      String(decoding: result.standardErrorContent, as: UTF8.self) == "<6>level=info msg=written\n")
  }

  /// A web server that systemd has started passes the variable to programs whose standard error is
  /// a file.
  @Test func aLineElsewhereHasItsTimeThoughTheVariableIsSet() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
    ) {
      setenv("JOURNAL_STREAM", "8:1", 1)
      JournalLog.logger().info("written")
      exit(0)
    }
    #expect(String(decoding: result.standardErrorContent, as: UTF8.self).hasPrefix("<6>time=2"))
  }

  @Test func whatAnEventSaysOfItselfStandsBehindItInOrder() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
    ) {
      var log = JournalLog.logger()
      log[metadataKey: "b"] = "of the logger"
      log[metadataKey: "c"] = "3"
      log.info("said", metadata: ["b": "own", "a": "1"])
      exit(0)
    }
    #expect(
      withoutTimes(result.standardErrorContent)
        == "<6>level=info msg=said a=1 b=own c=3\n")
  }

  @Test func noValueLooksLikeAnotherMember() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
    ) {
      let log = JournalLog.logger()
      log.info("a", metadata: ["path": "/x request=\"1\\", "z": "1"])
      exit(0)
    }
    #expect(
      withoutTimes(result.standardErrorContent)
        == #"<6>level=info msg=a path="/x request=\"1\\" z=1"# + "\n")
  }

  @Test func noEventEndsItsLineOrDrawsOnTheTerminal() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
    ) {
      let log = JournalLog.logger()
      log.info(
        "a\nb\r\u{1b}[31mc\u{7f}\0d\té🎉", metadata: ["path": "/x\n<0>forged", "k\ney": "v"])
      exit(0)
    }
    #expect(
      withoutTimes(result.standardErrorContent)
        == "<6>level=info msg=\"a b  [31mc  d é🎉\" k ey=v path=\"/x <0>forged\"\n")
  }

  @Test func whatIsBelowTheLevelIsNotWritten() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
    ) {
      JournalLog.logger().debug("not written")
      JournalLog.logger().info("written")
      exit(0)
    }
    #expect(
      withoutTimes(result.standardErrorContent) == "<6>level=info msg=written\n")
  }

  /// A reader would take the next field for an empty value.
  @Test func anEmptyValueIsQuoted() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
    ) {
      JournalLog.logger().info("Two words", metadata: ["bank": ""])
      exit(0)
    }
    #expect(
      withoutTimes(result.standardErrorContent)
        == "<6>level=info msg=\"Two words\" bank=\"\"\n")
  }

  @Test(arguments: [
    ("debug", Logger.Level.debug), ("info", .info), ("notice", .notice), ("warning", .warning),
    ("error", .error),
  ])
  func theLevelIsTheOneThatIsSet(name: String, level: Logger.Level) {
    var environment = Environment(["SWITCHBOARD_LOG_LEVEL": name])
    let found = environment.logLevel()
    #expect(found == level)
    #expect(environment.complaints == [])
    #expect(JournalLog.logger(from: found).logLevel == level)
  }

  @Test func anotherLevelIsAComplaint() {
    var environment = Environment(["SWITCHBOARD_LOG_LEVEL": "loud"])
    #expect(environment.logLevel() == .info)
    #expect(
      environment.complaints == [
        "SWITCHBOARD_LOG_LEVEL must be one of debug, info, notice, warning, error."
      ])
  }

  @Test func linesOfSeveralThreadsDoNotMix() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
    ) {
      let log = JournalLog.logger()
      DispatchQueue.concurrentPerform(iterations: 200) { number in
        log.info("\(String(repeating: "x", count: 100))", metadata: ["n": "\(number)"])
      }
      exit(0)
    }
    let lines = withoutTimes(result.standardErrorContent).split(separator: "\n")
    #expect(lines.count == 200)
    #expect(
      Set(lines)
        == Set(
          (0..<200).map { "<6>level=info msg=\(String(repeating: "x", count: 100)) n=\($0)"[...] }))
  }
}

/// The log without the time of each line.
private func withoutTimes(_ log: [UInt8]) -> String {
  String(decoding: log, as: UTF8.self).replacing(#/time=\S+ /#, with: "")
}
