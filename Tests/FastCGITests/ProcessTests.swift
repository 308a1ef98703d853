import Foundation
import Support
import Testing

@testable import FastCGI

/// Tests of whole processes; each test has its own process.
@Suite struct ProcessTests {
  @Test func aServerShortOfDescriptorsServesAsSoonAsItHasOne() async {
    await #expect(processExitsWith: .success) {
      try withServer { server in
        _ = try server.answer()
        let connection = Connection()
        var log: [CInt] = [-1, -1]
        #expect(pipe(&log) == 0)
        dup2(log[1], STDERR_FILENO)
        var limit = rlimit()
        getrlimit(CInt(RLIMIT_NOFILE.rawValue), &limit)
        var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
        setrlimit(CInt(RLIMIT_NOFILE.rawValue), &none)
        try connection.connect(to: server.endpoint.path)
        try connection.send(requestBytes())
        var logged = [UInt8](repeating: 0, count: 4096)
        let count = waiting(for: "the log line of a failure") {
          read(log[0], &logged, logged.count)
        }
        setrlimit(CInt(RLIMIT_NOFILE.rawValue), &limit)
        let line = String(decoding: logged.prefix(count), as: UTF8.self)
        #expect(line.contains("accept4 failed with errno \(EMFILE)"))
        #expect(try connection.answer().body == "GET /   -")
      }
    }
  }

  @Test func afterTheFirstServerTheProcessHasItsOwnSignalHandlers() async {
    await #expect(processExitsWith: .success) {
      signal(SIGUSR1, SIG_DFL)
      try withServer { server in _ = try server.answer() }
      for number in [SIGUSR1, SIGTERM] {
        var action = sigaction()
        sigaction(number, nil, &action)
        #expect(action.__sigaction_handler.sa_handler == nil)
      }
    }
  }
}
