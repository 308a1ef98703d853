import Glibc
import ProcessSupport
import SharedSettings

do {
  try Configuration(Environment.ofProcess()).serve()
} catch let error as ConfigurationError {
  JournalLog.logger().critical("\(error)")
  exit(78)  // EX_CONFIG (sysexits.h): restarting cannot fix the configuration
} catch {
  JournalLog.logger().critical("\(error)")
  exit(1)
}
