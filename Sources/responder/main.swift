import Glibc
import ProcessSupport
import SharedSettings

useOneHeap()
do {
  try Configuration(Environment.ofProcess()).serve()
  // Skips the exit handlers of libraries: they only free memory, which a thread may still use.
  _exit(0)
} catch let error as ConfigurationError {
  JournalLog.logger().critical("\(error)")
  exit(78)  // EX_CONFIG (sysexits.h): restarting cannot fix the configuration
} catch {
  JournalLog.logger().critical("\(error)")
  exit(1)
}
