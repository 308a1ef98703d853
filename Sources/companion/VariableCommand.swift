import ArgumentParser
import ProcessSupport
import SharedSettings

struct Variables: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints the names of the environment variables that a program reads.",
    discussion: """
      The programs are responder, companion and relay. The manual's page Configure says what each variable means.
      Example: switchboard variables responder
      """)

  @Argument(help: "The program.")
  var program: Variable.Reader

  func run() {
    for name in Variable.names(readBy: program) { print(name) }
  }
}

extension Variable.Reader: ExpressibleByArgument {}
