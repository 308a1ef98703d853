import Base
import Glibc
import Store

/// A process of this host. Ids are used again, so it is known by its id and the time when it started.
struct RunningProcess {
  /// `ID START`, the start in ticks since the host's.
  let text: String

  /// This process; nil if the system does not tell (proc(5)).
  static let own = RunningProcess(id: getpid())

  /// - Returns: nil if no process with this id is seen.
  init?(id: pid_t) {
    guard let file = fopen("/proc/\(id)/stat", "re") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 2048)
    guard fgets(&line, CInt(line.count), file) != nil else { return nil }
    let octets = line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
    // The name before may have spaces and brackets.
    guard let bracket = octets.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = octets[(bracket + 1)...].split(separator: UInt8(ascii: " "))
    // `starttime` is the 22nd field, and the name the second. A process that has ended and was not waited for is a zombie.
    guard fields.count > 19, fields[0].first != UInt8(ascii: "Z") else { return nil }
    text = "\(id) \(String(decoding: fields[19], as: UTF8.self))"
  }

  /// Whether the process that `text` names still runs.
  static func isRunning(_ text: String) -> Bool {
    guard let id = text.split(separator: " ").first.flatMap({ pid_t($0) }) else { return false }
    return RunningProcess(id: id)?.text == text
  }
}

extension Companion {
  /// Notes that this process runs a pass, and tells of processes that have died in theirs.
  func noteRunning() throws {
    guard let own = RunningProcess.own else { return }
    let (running, host) = (records.runningCompanions, hostName())
    let dead = try running.begin(own.text, on: host).filter { !RunningProcess.isRunning($0) }
    guard !dead.isEmpty else { return try running.endOldDeath(on: host) }
    log.error("A companion has died in a pass", metadata: ["processes": "\(dead.count)"])
    try running.recordDeath(of: dead, on: host)
  }

  /// Notes that this process ends, or has ended all its work.
  func noteEnd() throws {
    if let own = RunningProcess.own {
      try records.runningCompanions.end(own.text, on: hostName())
    }
  }
}
