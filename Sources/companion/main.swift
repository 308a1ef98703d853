import Administration
import ArgumentParser
import Glibc
import ProcessSupport
import SharedSettings

useOneHeap()

do {
  let words = CommandLine.arguments.dropFirst()
  switch Array(words) {
  // Without the tree of all commands, which takes two thirds of a service's start.
  case ["run"]: try Run.parse([]).run()
  case ["watch"]: try Watch.parse([]).run()
  default:
    try SwitchboardCompanion.refuseUnknownHelp(words)
    var command = try SwitchboardCompanion.parseAsRoot()
    try command.run()
  }
} catch let error as ConfigurationError {
  let text = Array("Error: \(error)\n".utf8)
  _ = write(STDERR_FILENO, text, text.count)
  exit(78)  // EX_CONFIG (sysexits.h): restarting cannot fix the configuration
} catch let error as BadArguments {
  SwitchboardCompanion.exit(withError: ValidationError(error.description))
} catch {
  SwitchboardCompanion.exit(withError: error)
}
