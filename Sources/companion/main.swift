import Administration
import ArgumentParser
import CMalloc
import Glibc
import ProcessSupport
import SharedSettings

// One heap for all threads: each heap of its own would keep the memory of the largest batch that its
// thread has handled.
mallopt(M_ARENA_MAX, 1)

do {
  try SwitchboardCompanion.refuseUnknownHelp(CommandLine.arguments.dropFirst())
  var command = try SwitchboardCompanion.parseAsRoot()
  try command.run()
} catch let error as ConfigurationError {
  let text = Array("Error: \(error)\n".utf8)
  _ = write(STDERR_FILENO, text, text.count)
  exit(78)  // EX_CONFIG (sysexits.h): restarting cannot fix the configuration
} catch let error as BadArguments {
  SwitchboardCompanion.exit(withError: ValidationError(error.description))
} catch {
  SwitchboardCompanion.exit(withError: error)
}
