import Administration
import ArgumentParser
import Delivery
import ProcessSupport
import SharedSettings

struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Says what fails, why, and what to do about it, and where notifications go.",
    discussion: """
      Ends with status 0 where all is well, and 1 where something fails.
      Example: switchboard status
      """)

  @OptionGroup var output: Output

  func run() throws {
    let report = try Configuration(Environment.ofProcess()).impatient().statusReport()
    output.print(report)
    if !report.isWell { throw ExitCode.failure }
  }
}

struct Metrics: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints metrics as Prometheus reads them, as SWITCHBOARD_METRICS_FILE gets them.",
    discussion: "Example: switchboard metrics")

  func run() throws {
    print(try Configuration(Environment.ofProcess()).companion().metrics(), terminator: "")
  }
}
