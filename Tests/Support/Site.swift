package import Foundation

/// A whole site that `nginx/run` sets up: nginx, responder, companion and MariaDB.
///
/// The programs are those in ``programFolder``.
package struct Site: Sendable {
  /// Without a slash at the end.
  package let url: String
  package let port: UInt16
  /// The `--state` folder: database, mails, logs, secrets.
  package let state: String
  private let environment: [String: String]
  /// Additional options of `nginx/run`.
  private let options: [String]
  /// The command that runs `nginx/run`; empty if this process runs it.
  private let runner: [String]

  /// The result of a command.
  package struct Outcome: Sendable {
    package let status: Int32
    /// Standard output and standard error, in order.
    package let output: String
  }

  /// An answer over HTTP; the names of its fields are in lower case.
  package struct Answer: Sendable {
    package let status: Int
    package let fields: [String: String]
    package let body: String

    /// Parses the output of `curl --include`.
    package init(_ printed: String) {
      let parts = printed.split(separator: "\r\n\r\n", maxSplits: 1)
      let lines = parts.first?.split(separator: "\r\n") ?? []
      status = lines.first.flatMap { Int($0.split(separator: " ").dropFirst().first ?? "") } ?? 0
      let pairs = lines.dropFirst().map { line in
        let pair = line.split(separator: ":", maxSplits: 1)
        let value = pair.count == 2 ? pair[1].trimmingCharacters(in: .whitespaces) : ""
        return (pair[0].lowercased(), value)
      }
      fields = Dictionary(pairs) { "\($0), \($1)" }
      body = parts.count == 2 ? String(parts[1]) : ""
    }
  }

  /// Runs `nginx/run --detach` for this site; returns when the site is ready or has failed to
  /// start.
  @discardableResult
  package func start(port other: UInt16? = nil) -> Outcome {
    Self.run(
      runner + [
        Self.script, "--detach", "--state", state, "--port", "\(other ?? port)",
        "--bin", programFolder.path(),
      ] + options, environment: environment)
  }

  /// The command that starts this site and runs until it is interrupted.
  package var commandInForeground: [String] {
    [Self.script, "--state", state, "--port", "\(port)", "--bin", programFolder.path()] + options
  }

  /// Runs `switchboard-companion` as an administrator of this site, with `input` as typed text.
  package func companion(_ arguments: String..., input: String = "") -> Outcome {
    companion(arguments, input: input)
  }

  package func companion(_ arguments: [String], input: String = "") -> Outcome {
    var settings = companionSettings
    // Only these commands need the key.
    if ["pair", "devices"].contains(arguments.first) {
      settings["SWITCHBOARD_CREDENTIAL_KEYS_FILE"] = "\(state)/secrets/credential-keys"
    }
    return Self.run(
      [builtProgram("switchboard-companion").path()] + arguments,
      environment: settings, input: input)
  }

  /// Runs `script` in `folder`, with `switchboard` as the administrator's command for this site.
  package func administratorsShell(_ script: String, in folder: String) -> Outcome {
    let program = builtProgram("switchboard-companion").path()
    return Self.run(
      [
        "bash", "-c", "cd \"$1\"; program=$2; switchboard() { \"$program\" \"$@\"; }\n\(script)",
        "bash",
        folder, program,
      ],
      environment: companionSettings)
  }

  private var companionSettings: [String: String] {
    let settings = [
      "SWITCHBOARD_PUBLIC_URL": url, "SWITCHBOARD_DB_SOCKET": databaseSocket,
      "SWITCHBOARD_DB_USER": "switchboard_companion",
      "SWITCHBOARD_DB_PASSWORD_FILE": "\(state)/secrets/database-companion",
      "SWITCHBOARD_COMPANION_KEYS_FILE": "\(state)/secrets/companion-keys",
    ]
    return settings.merging(environment) { $1 }
  }

  /// Runs `script` with mounts that only the site's programs see. The site must have own mounts.
  package func mount(_ script: String) throws {
    let keeper = keeper(of: "mariadb") ?? 0
    let outcome = Self.run(["nsenter", "--mount", "--target", "\(keeper)", "sh", "-ec", script])
    guard outcome.status == 0 else { throw SiteError(doing: script, outcome) }
  }

  /// Runs `nginx/run --stop` for this site.
  @discardableResult
  package func stop() -> Outcome { Self.run([Self.script, "--stop", "--state", state]) }

  /// Sends one request with `curl` to `path`, unchanged; `options` are options of curl.
  package func curl(_ path: String, _ options: String...) -> Answer { curl(path, options) }

  package func curl(_ path: String, _ options: [String]) -> Answer {
    let arguments = ["curl", "--path-as-is", "--include", "--header", "Expect:"] + Self.quietly
    let answer = Answer(Self.run(arguments + options + [url + path]).output)
    Evidence.keep(answer: answer.body.utf8)
    return answer
  }

  /// The statuses of `count` requests to `path`, one after the other on one connection.
  package func statuses(of count: Int, _ path: String, _ options: [String]) -> [Int] {
    let arguments = ["curl", "--output", "/dev/null", "--write-out", "%{http_code}\n"]
    let target = ["\(url)\(path)?[1-\(count)]"]
    let printed = Self.run(arguments + Self.quietly + options + target).output
    return printed.split(separator: "\n").compactMap { Int($0) }
  }

  /// The result of `statement` for the database's root: one line per row, tabs between columns.
  package func sql(_ statement: String) throws -> String {
    // A frozen server still accepts connections.
    let outcome = SQLClient.run(
      statement, socket: databaseSocket, user: NSUserName(), database: "switchboard",
      connectingWhile: { !isFrozen("mariadb") })
    guard outcome.isDone else {
      throw SiteError(doing: statement, Outcome(status: 1, output: outcome.printed))
    }
    return outcome.printed
  }

  /// The current process of `responder`, `companion`, `relay`, `mariadb` or `web`; nil if none
  /// runs.
  package func pid(of program: String) -> pid_t? { pid(in: "\(program).pid") }

  /// The process that restarts the program.
  package func keeper(of program: String) -> pid_t? { pid(in: "\(program).keeper") }

  /// Whether a test has stopped the program by a signal.
  private func isFrozen(_ program: String) -> Bool {
    pid(of: program).flatMap { try? String(contentsOfFile: "/proc/\($0)/stat", encoding: .utf8) }?
      .contains(") T ") == true
  }

  private func pid(in file: String) -> pid_t? {
    // Without the file there is no process.
    let text = try? String(contentsOfFile: "\(state)/run/\(file)", encoding: .utf8)
    return text?.split(whereSeparator: \.isWhitespace).first.flatMap { pid_t($0) }
  }

  /// The text of `STATE/log/NAME.log`.
  package func log(_ name: String) throws -> String {
    try String(contentsOfFile: "\(state)/log/\(name).log", encoding: .utf8)
  }

  /// The log files in `STATE/log`, without `.log`. A responder that the web server starts writes to
  /// the log of the web server.
  package static let logs =
    ["web-access", "web-error", "companion", "relay", "mariadb"]
    + (WebServer.ofTests.hasResponder ? ["responder"] : [])

  /// All data as SQL, by `mariadb-dump`.
  package func dump() -> String {
    Support.dump(of: "switchboard", socket: databaseSocket, user: NSUserName())
  }

  /// The name of this site's files in ``Evidence``.
  package var evidenceName: String { "site-\(port)" }

  /// Keeps the database and the logs. Skips the database if a test has left it dead.
  fileprivate func keepEvidence() {
    if (try? sql("SELECT 1")) != nil {
      Evidence.keep(
        database: "switchboard", of: databaseSocket, user: NSUserName(), as: evidenceName)
    }
    for name in Self.logs {
      // A program that was never started has no log.
      if let text = try? log(name) { Evidence.keep(log: text, of: evidenceName) }
    }
  }

  private var databaseSocket: String { socket("mariadb") }

  /// The path of a program's unix socket.
  package func socket(_ program: String) -> String { "\(state)/run/\(program).sock" }

  static let script = projectFolder.appending(path: "nginx/run").path()
  private static let quietly = ["--silent", "--noproxy", "*"]

  /// Runs a command to its end.
  package static func run(
    _ command: [String], environment: [String: String] = [:], input: String = ""
  ) -> Outcome {
    // No Pipe: another thread's child could inherit its end, and the site outlives its start command.
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    let typed = file.appendingPathExtension("input")
    precondition(FileManager.default.createFile(atPath: file.path(), contents: nil))
    precondition(FileManager.default.createFile(atPath: typed.path(), contents: Data(input.utf8)))
    defer { for file in [file, typed] { try? FileManager.default.removeItem(at: file) } }
    let process = Process()
    let output = FileHandle(forWritingAtPath: file.path())
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle(forReadingAtPath: typed.path())
    process.standardOutput = output
    process.standardError = output
    do { try process.run() } catch {
      return Outcome(status: 127, output: "\(command[0]): \(error)")
    }
    waiting(for: "the end of \(command.joined(separator: " ").prefix(200))") {
      process.waitUntilExit()
    }
    let printed = FileManager.default.contents(atPath: file.path()) ?? Data()
    return Outcome(
      status: process.terminationStatus, output: String(decoding: printed, as: UTF8.self))
  }

  /// A site that a person starts with only these `options`, in a folder with a space in its name.
  fileprivate init(ofPersonWith options: [String]) {
    port = freePort()
    url = "http://localhost:\(port)"
    // lighttpd cannot start a program in such a folder.
    state = makeTemporaryFolder(
      named: WebServer.ofTests == .lighttpdChild ? "switchboard" : "my site")
    environment = [:]
    self.options = options
    runner = []
  }

  fileprivate init(
    host: String, environment: [String: String], options: [String], hasOwnMounts: Bool
  ) throws {
    port = freePort()
    url = "http://\(host):\(port)"
    state = makeTemporaryFolder()
    let own = [
      "SWITCHBOARD_PUBLIC_URL": url,
      // The tests run banks and push services on this machine.
      "SWITCHBOARD_OUTBOUND_ALLOW": "127.0.0.0/8",
      // A sync protects from a crash of the machine, not of the server.
      "SWITCHBOARD_MARIADB_OPTIONS": "--debug-no-sync",
    ]
    self.environment = environment.merging(own) { given, _ in given }
    // On a full disk, a copy could not write the pages that it left out.
    self.options = try options + (hasOwnMounts ? [] : ["--model", SiteModel.shared.get().state])
    runner = hasOwnMounts ? ["unshare", "--mount"] : []
  }
}

/// A site, or a command in it, failed.
package struct SiteError: Error, CustomStringConvertible {
  package let description: String

  init(doing what: String, _ outcome: Site.Outcome) {
    description = "\(what) ended with \(outcome.status):\n\(outcome.output)"
  }
}

/// Calls `body` with a new site that is ready; stops and removes the site afterwards in every case.
///
/// - Parameters:
///   - host: `127.0.0.1` or `localhost`; browsers support passkeys only for names.
///   - environment: variables for both programs, in addition to those of this process.
///   - hasFakes: whether fakes of online-go.com and APNs run.
///   - agent: `HOST:PORT` of the agent that the site protects.
///   - hasOwnMounts: whether ``Site/mount(_:)`` works. Requires root.
package func withSite<T>(
  host: String = "127.0.0.1", environment: [String: String] = [:], hasFakes: Bool = false,
  agent: String? = nil, hasOwnMounts: Bool = false,
  isolation: isolated (any Actor)? = #isolation,
  _ body: (Site) async throws -> T
) async throws -> T {
  let options = (hasFakes ? ["--fakes"] : []) + (agent.map { ["--agent", $0] } ?? [])
  let site = try Site(
    host: host, environment: environment, options: options, hasOwnMounts: hasOwnMounts)
  let guardian = SiteGuardian(of: site.state)
  defer { guardian.end() }
  let outcome = site.start()
  guard outcome.status == 0 else { throw SiteError(doing: "nginx/run", outcome) }
  defer { site.keepEvidence() }
  return try await body(site)
}

/// Calls `body` with a site that a person starts with `options`, and the output of `nginx/run`.
package func withSiteOfPerson<T>(
  options: [String], isolation: isolated (any Actor)? = #isolation,
  _ body: (Site, _ printed: String) async throws -> T
) async throws -> T {
  let site = Site(ofPersonWith: options)
  let guardian = SiteGuardian(of: site.state)
  defer { guardian.end() }
  let outcome = site.start()
  guard outcome.status == 0 else { throw SiteError(doing: "nginx/run", outcome) }
  defer { site.keepEvidence() }
  return try await body(site, outcome.output)
}

/// The folder of `Package.swift`.
package let projectFolder = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

/// A free port of 127.0.0.1, below the range that the kernel gives to clients.
///
/// Until this process ends, it keeps the same port for UDP, which no test uses, so that no other
/// process of tests takes the port before it is used.
package func freePort() -> UInt16 {
  while true {
    // The tests in Python and in shell take the ports above.
    let port = UInt16.random(in: 10_000..<20_000)
    let sockets = [SOCK_STREAM, SOCK_DGRAM].map {
      socket(AF_INET, Int32($0.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    var isFree = false
    _ = withLoopbackAddress(port: port) { address in
      isFree = sockets.allSatisfy { bind($0, address, length) == 0 }
    }
    close(sockets[0])
    if isFree { return port }
    close(sockets[1])
  }
}
