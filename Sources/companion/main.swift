import Administration
import ArgumentParser
import Glibc
import ProcessSupport
import SharedSettings

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
