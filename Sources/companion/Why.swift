import Administration
import ArgumentParser
import Store

struct Why: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Explains why a phone did not ring.",
    discussion: """
      It looks up the devices, the last poll, the last notification and what Apple said, and says what to do.
      Example: switchboard why ann@example.org
      Example: switchboard why 740f4707bebcf74f
      Example: switchboard why 1234567
      """)

  @Argument(
    help:
      "A device token or its first 8 digits, an e-mail address, or the number of a user or a game of online-go.com."
  )
  var question: String
  @OptionGroup var output: Output

  func run() throws {
    try output.print(
      SilenceReport(records: .ofCommand()).explain(question),
      orNotFound:
        "Nothing is known about it: no device, account, user or game. The app must register first.")
  }
}
