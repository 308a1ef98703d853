import API
import FastCGI
import Glibc
import Program

do {
  let configuration = try Configuration(Environment.ofProcess())
  try configuration.serve()
} catch {
  JournalLog.logger().critical("\(error)")
  exit(78)  // EX_CONFIG (sysexits.h)
}
