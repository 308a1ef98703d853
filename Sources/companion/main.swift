import ArgumentParser
import Glibc
import Program

do {
  var command = try SwitchboardCompanion.parseAsRoot()
  try command.run()
} catch let error as ConfigurationError {
  JournalLog.logger().critical("\(error)")
  exit(78)  // EX_CONFIG (sysexits.h): restarting cannot fix the configuration
} catch {
  SwitchboardCompanion.exit(withError: error)
}
