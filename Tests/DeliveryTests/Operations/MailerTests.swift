import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Serialized, because a child of another test that starts at the same moment could hold a pipe
/// open.
@Suite(.serialized) struct MailerTests {
  private static let message = Array("To: <ann@example.org>\n\nä line\n".utf8)

  /// The outcome in one word, with its reason.
  private func outcome(
    _ lines: String, message: [UInt8] = message, in folder: TestDelivery
  ) throws -> String {
    text(of: Mailer.command(try folder.script(lines)).send(message, named: "id", clock: .still))
  }

  private func text(of outcome: MailOutcome) -> String {
    switch outcome {
    case .delivered: "delivered"
    case .failed(let reason): "failed: \(reason)"
    case .dead(let reason): "dead: \(reason)"
    }
  }

  @Test func aCommandGetsTheMessageByteForByte() throws {
    try withFolder { folder throws in
      let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      for message in [Self.message, [], [0], large] {
        #expect(
          try outcome("cat > \(folder.folder)/got", message: message, in: folder) == "delivered")
        let got = try Data(contentsOf: URL(filePath: "\(folder.folder)/got"))
        #expect(Array(got) == message)
      }
    }
  }

  @Test func aCommandsWordsAreItsArgumentsAndNoShellReadsThem() throws {
    try withFolder { folder throws in
      let script = try folder.script(
        #"for word in "$@"; do echo "$word" >> \#(folder.folder)/words; done; cat > /dev/null"#)
      let line = "\(script)  -t -i $HOME *;x `id`"
      #expect(
        text(of: Mailer.command(line).send(Self.message, named: "id", clock: .still)) == "delivered"
      )
      #expect(try folder.text("words") == "-t\n-i\n$HOME\n*;x\n`id`\n")
    }
  }

  @Test func aCommandIsLookedUpInThePath() {
    #expect(text(of: Mailer.command("cat").send([], named: "id", clock: .still)) == "delivered")
  }

  @Test(arguments: [
    ("exit 75", "failed: the mail command ended with status 75"),
    ("exit 1", "failed: the mail command ended with status 1"),
    ("exit 71", "failed: the mail command ended with status 71"),
    ("exit 64", "dead: the mail command ended with status 64"),
    ("exit 65", "dead: the mail command ended with status 65"),
    ("exit 67", "dead: the mail command ended with status 67"),
    ("exit 68", "dead: the mail command ended with status 68"),
    ("kill -9 $$", "failed: the mail command was ended by signal 9"),
    ("kill -TERM $$", "failed: the mail command was ended by signal 15"),
  ])
  func theStatusSaysWhetherToTryAgain(ending: String, expected: String) throws {
    try withFolder { folder throws in
      #expect(try outcome("cat > /dev/null; \(ending)", in: folder) == expected)
    }
  }

  @Test(arguments: ["/nonexistent/sendmail -t", "nonexistent-sendmail", "", "   ", "/etc/passwd"])
  func aCommandThatCannotBeStartedIsTriedAgain(line: String) throws {
    try withFolder { _ throws in
      #expect(
        text(of: Mailer.command(line).send(Self.message, named: "id", clock: .still))
          == "failed: the mail command cannot be started")
    }
  }

  @Test func aCommandThatReadsNothingHasSentNothing() throws {
    try withFolder { folder throws in
      let large = [UInt8](repeating: 97, count: 1_000_000)
      #expect(
        try outcome("exit 0", message: large, in: folder)
          == "failed: the mail command read no message")
      #expect(
        try outcome("exit 67", message: large, in: folder)
          == "dead: the mail command ended with status 67")
    }
  }

  @Test func aShortMessageThatNobodyReadIsNotSent() throws {
    try withFolder { folder throws in
      #expect(
        try outcome("exit 0", in: folder)
          == "failed: the mail command read no message")
    }
  }

  @Test func aMailWhoseCommandHangsIsTriedAgain() throws {
    try withFolder { folder throws in
      let mailer = Mailer.command(try folder.script("exec sleep infinity"))
      let clock = TestClock()
      clock.run(by: .seconds(10))
      let outcome = mailer.send(Self.message, named: "id", clock: clock.limits)
      #expect(text(of: outcome) == "failed: the mail command took more than 30.0 seconds")
    }
  }

  @Test func aCommandThatTakesTooLongIsKilled() throws {
    try withFolder { folder throws in
      let words = try folder.script("echo $$ > \(folder.folder)/pid; exec sleep infinity")
        .split(separator: " ").map(String.init)
      guard let child = ChildProcess(words, input: Self.message) else {
        Issue.record("not started")
        return
      }
      wait(for: "the program") { (try? folder.text("pid").hasSuffix("\n")) == true }
      guard case .overdue = child.wait(atMost: .zero, clock: .still) else {
        Issue.record("it ended by itself")
        return
      }
      let pid = try #require(pid_t(folder.text("pid").dropLast()))
      #expect(kill(pid, 0) == -1)
    }
  }

  @Test func whatAKilledCommandHasStartedIsKilledToo() throws {
    try withFolder { folder throws in
      let words = try folder.script(
        "sleep infinity & echo $! > \(folder.folder)/pid; wait"
      ).split(separator: " ").map(String.init)
      guard let child = ChildProcess(words, input: Self.message) else {
        Issue.record("not started")
        return
      }
      wait(for: "the program") { (try? folder.text("pid").hasSuffix("\n")) == true }
      guard case .overdue = child.wait(atMost: .zero, clock: .still) else {
        Issue.record("it ended by itself")
        return
      }
      let pid = try #require(pid_t(folder.text("pid").dropLast()))
      // Its parent is dead, so another process reaps it.
      wait(for: "the end of the child") {
        kill(pid, 0) == -1 || (try? status(of: pid)) == "Z"
      }
    }
  }

  /// The letter of a process's state, as in `ps`.
  private func status(of process: pid_t) throws -> String {
    let line = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    return String(line.split(separator: ")").last?.split(separator: " ").first ?? "")
  }

  @Test func aCommandInheritsNeitherOurSignalsNorOurFiles() throws {
    try withFolder { folder throws in
      var blocked = sigset_t()
      var before = sigset_t()
      sigfillset(&blocked)
      pthread_sigmask(SIG_SETMASK, &blocked, &before)
      defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
      let lines = """
        cat > /dev/null
        grep -E '^Sig(Blk|Ign)' /proc/self/status > \(folder.folder)/signals
        """
      #expect(try outcome(lines, in: folder) == "delivered")
      let signals = try folder.text("signals")
      #expect(signals.contains("SigBlk:\t0000000000000000"))
      // SIGPIPE is 13, so bit 12 of the ignored signals.
      let ignored = signals.split(separator: "\n").last?.split(separator: "\t").last ?? ""
      #expect((UInt64(ignored, radix: 16) ?? .max) & 0x1000 == 0)
    }
  }

  @Test func aDirectoryGetsAFileForEachMail() throws {
    try withFolder { folder throws in
      let mailer = Mailer.directory("\(folder.folder)/mails")
      #expect(text(of: mailer.send(Self.message, named: "id-1")) == "delivered")
      #expect(text(of: mailer.send([1, 2], named: "id-2")) == "delivered")
      #expect(text(of: mailer.send([3], named: "id-2")) == "delivered")
      let mails = TestDelivery(root: folder.root, folder: "\(folder.folder)/mails")
      #expect(try mails.files == ["id-1.eml", "id-2.eml"])
      #expect(try mails.text("id-1.eml") == String(decoding: Self.message, as: UTF8.self))
      #expect(try mails.text("id-2.eml") == "\u{3}")
      let attributes = try FileManager.default.attributesOfItem(
        atPath: "\(mails.folder)/id-1.eml")
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
  }

  @Test func aMailAppearsWholeOrNotAtAll() throws {
    try withFolder { folder throws in
      // A folder has the mail's name: the temporary file can be written, but not moved to that
      // name.
      try FileManager.default.createDirectory(
        atPath: "\(folder.folder)/id.eml/x", withIntermediateDirectories: true)
      let outcome = Mailer.directory(folder.folder).send(Self.message, named: "id")
      #expect(text(of: outcome) == "failed: the mail directory cannot be written")
      #expect(try folder.files.contains("id.eml"))
    }
  }

  @Test(arguments: ["/nonexistent/a/b", "/proc", "/dev/null"])
  func aDirectoryThatCannotBeWrittenIsTriedAgain(path: String) {
    #expect(
      text(of: Mailer.directory(path).send(Self.message, named: "id", clock: .still))
        == "failed: the mail directory cannot be written")
  }
}
