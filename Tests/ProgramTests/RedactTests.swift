import Foundation
import Support
import Testing

/// `nginx/lighttpd/redact`, which writes lighttpd's error log.
@Suite struct RedactTests {
  /// logrotate renames the file, and lighttpd does not start its logger again.
  @Test func itGoesOnInTheNewFileAfterARotation() {
    let script = """
      cd "$(mktemp -d)"
      trap 'rm -rf "$PWD"' EXIT
      mkfifo pipe
      "$1" log <pipe &
      exec 3>pipe
      echo 'GET /a?b=secret HTTP' >&3
      for try in {1..200}; do [[ -s log ]] && break; sleep 0.05; done
      mv log log.1
      echo second >&3
      exec 3>&-
      wait
      cat log.1 log
      """
    let program = projectFolder.appending(path: "nginx/lighttpd/redact").path()
    let outcome = runProgram("bash", ["-euc", script, "bash", program])
    #expect(outcome.output == "GET /a?[redacted] HTTP\nsecond\n")
  }
}
