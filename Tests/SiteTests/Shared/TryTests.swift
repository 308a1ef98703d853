import Foundation
import Support
import Testing

/// The commands that `nginx/run` prints to try, pasted unchanged by a person who gave it only
/// options.
@Suite(.serialized) struct TryTests {
  private static let fakes = ["--fakes", "--agent", "127.0.0.1:8766"]

  /// The blocks in the output of `nginx/run`. A block begins with a comment and ends before an
  /// empty line.
  private func blocks(in printed: String) throws -> [String] {
    let whole = try #require(printed.range(of: "Try next, in another terminal"))
    let parts = printed[whole.upperBound...].components(separatedBy: "\n\n")
    return parts.filter { $0.hasPrefix("  # ") }.map { $0 + "\n" }
  }

  private func expectEverything(
    in output: String, of site: Site, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let expected = [
      #""deviceCredential":"sbdc_"#, #""preferred_models":["gpt-4o-mini"]"#, #""method":"email""#,
      #""accessToken":"eyJ"#, "notifications_today", "Add these cards?",
      #""name":"Ann"},"cards":["#,
      "mwsim://enrollment/callback?success=true&bsimId=test-bank&bankName=Test%20Bank&cardCount=2",
      #""lastFour":"4242""#, #""lastFour":"0005""#, #""platform":"android""#, #""successCount":1"#,
      #""cardLast4":"4242""#, "Paid. Thank you.", #"{"status":200,"request":"#,
      // A new turn, or an old one if a poll has seen it before the check.
      #"{"not_your_turn":[],"your_turn_"#, #"":[79504463]"#, #"go.com/game/79504463"#,
      "1783478",
    ]
    for text in expected {
      #expect(output.contains(text), "no \(text) in \(output)", sourceLocation: sourceLocation)
    }
    #expect(!output.contains(#""error""#), "\(output)", sourceLocation: sourceLocation)
    #expect(site.curl("/health").status == 0, "it runs on", sourceLocation: sourceLocation)
  }

  @Test func eachBlockThatItPrintsWorksWhenItIsPasted() async throws {
    try await withSiteOfPerson(options: Self.fakes) { site, printed in
      #expect(printed.hasSuffix("\nready http://localhost:\(site.port)\n"))
      let shell = InteractiveShell()
      var output = ""
      for block in try blocks(in: printed) { output += shell.paste(block) }
      shell.end()
      expectEverything(in: output, of: site)

      // The second start uses the files of the first start.
      let again = site.start()
      #expect(again.status == 0, "\(again.output)")
      #expect(again.output.hasSuffix("\nready http://localhost:\(site.port)\n"))
      let all = try blocks(in: again.output).joined(separator: "\n")
      expectEverything(in: Site.run(["sh"], input: all).output, of: site)
    }
  }

  @Test func theSiteHasANameForWhichBrowsersHavePasskeys() async throws {
    try await withSiteOfPerson(options: []) { site, printed in
      let found = try blocks(in: printed)
      #expect(found.count == 6)
      let asked = #"{"method":"passkey","deviceId":"p","deviceName":"Phone","platform":"ios"}"#
      #expect(site.post("/api/mobile/auth/login", asked).body.contains(#""rpId":"localhost""#))
      let byAddress = Site.run([
        "curl", "--silent", "--noproxy", "*", "http://127.0.0.1:\(site.port)/",
      ])
      #expect(byAddress.output.contains("<p>This is Switchboard"))
    }
  }

  @Test(.enabled(if: WebServer.ofTests.hasResponder))
  func aSiteInTheForegroundEndsWhenInterruptedAndStartsAgain() async throws {
    try await withSiteOfPerson(options: ["--fakes"]) { site, _ in
      #expect(site.stop().status == 0)
      for signal in [SIGINT, SIGTERM] {
        let (pid, output) = spawn("/usr/bin/env", site.commandInForeground)
        let end = "\nready http://localhost:\(site.port)\n"
        let printed = output.text(until: end)
        #expect(printed.hasSuffix(end), "\(printed)")
        wait(for: "a healthy site") { site.curl("/health").status == 200 }
        kill(pid, signal)
        #expect(awaitStatus(of: pid) == 0)
        #expect(site.curl("/health").status == 0)
      }
    }
  }

  @Test func eachVariableOfAProgramReachesItAndNoOther() async throws {
    let apps = "com.example.app=" + (0..<32).map { _ in "AB" }.joined(separator: ":")
    let environment = [
      "SWITCHBOARD_ANDROID_APPS": apps, "SWITCHBOARD_METRICS_FILE": "/nonexistent/x.prom",
    ]
    try await withSite(environment: environment) { site in
      #expect(site.curl("/.well-known/assetlinks.json").body.contains("com.example.app"))
      guard WebServer.ofTests.hasResponder else { return }
      let seen = try ["responder", "companion"].map { try site.variables(of: $0) }
      #expect(
        seen[0].contains("SWITCHBOARD_ANDROID_APPS")
          && !seen[1].contains("SWITCHBOARD_ANDROID_APPS"))
      #expect(
        seen[1].contains("SWITCHBOARD_METRICS_FILE")
          && !seen[0].contains("SWITCHBOARD_METRICS_FILE"))
    }
  }

  @Test func aSiteMayHaveSeveralAddresses() async throws {
    let urls = "https://new.example.org,https://old.example.org"
    try await withSite(environment: ["SWITCHBOARD_PUBLIC_URL": urls]) { site in
      let asked = #"{"method":"passkey","deviceId":"p","deviceName":"Phone","platform":"ios"}"#
      #expect(
        site.post("/api/mobile/auth/login", asked).body.contains(#""rpId":"new.example.org""#))
    }
  }
}

extension Site {
  /// The names of a program's environment variables.
  fileprivate func variables(of program: String) throws -> Set<String> {
    let pid = try #require(self.pid(of: program))
    let block = try Data(contentsOf: URL(filePath: "/proc/\(pid)/environ"))
    return Set(
      block.split(separator: 0).map {
        String(decoding: $0.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
      })
  }
}

/// An interactive bash like in a terminal, so that `!` and comments have their special meaning.
private final class InteractiveShell {
  private let pid: pid_t
  private let terminal: FileHandle
  private var count = 0

  init() {
    // A new session, because another process may own the terminal.
    let script = "exec setsid --wait bash --noprofile --norc -i 2>/dev/null"
    (pid, terminal) = spawn("/bin/sh", ["-c", script])
  }

  /// The output of the shell until `block` is done.
  func paste(_ block: String) -> String {
    count += 1
    let marker = "printf '%s\\n' 'end of' 'block \(count)'\n"
    terminal.write(Data("\(block)\n\(marker)".utf8))
    return terminal.text(until: "end of\nblock \(count)\n")
  }

  func end() {
    shutdown(terminal.fileDescriptor, Int32(SHUT_WR))
    _ = awaitStatus(of: pid)
  }
}

extension FileHandle {
  /// Reads until the text ends with `end` or the input ends.
  fileprivate func text(until end: String) -> String {
    var bytes = Data()
    while !bytes.suffix(end.utf8.count).elementsEqual(end.utf8) {
      let more = availableData
      guard !more.isEmpty else { break }
      bytes += more
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
