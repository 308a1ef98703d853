import ArgumentParser
import Delivery
import Program

struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Says what fails, why, and what to do about it.",
    discussion: "Ends with status 0 where all is well, and 1 where something fails.")

  @ArgumentParser.Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let report = try Configuration(Environment.ofProcess()).companion().status()
    print(json ? report.json : report.text)
    if !report.isWell { throw ExitCode.failure }
  }
}

struct Metrics: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints metrics as OpenMetrics text, as SWITCHBOARD_METRICS_FILE gets them.")

  func run() throws {
    print(try Configuration(Environment.ofProcess()).companion().metrics(), terminator: "")
  }
}
