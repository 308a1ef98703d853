import Foundation
import Support
import Testing

/// The number of nginx's connections, and the networks that share a limit.
@Suite(.serialized, .enabled(if: WebServer.ofTests == .nginx)) struct NginxConnectionTests {
  /// Runs `script` with the functions of setup and of the package's postrm that edit nginx's
  /// configuration.
  private func edit(_ configuration: String, by script: String) throws -> String {
    let folder = makeTemporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let file = "\(folder)/nginx.conf"
    let text =
      "pid \(folder)/pid;\nerror_log \(folder)/log;\n\(configuration)\nhttp { \(temporaryPaths(in: folder)) }\n"
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    let source = projectFolder.appending(path: "Sources").path()
    let outcome = Site.run([
      "bash", "-euc",
      """
      PATH=$PATH:/usr/sbin
      say() { :; }
      nginx() { command nginx "$@" -c \(file); }
      eval "$(sed -n '/^raise_connections() {/,/^}/p' \(source)/companion/setup)"
      eval "$(sed -n '/^restore_connections() {/,/^}/p' \(source)/debian/switchboard.postrm)"
      raise() { raise_connections \(file); }
      restore() { restore_connections \(file); }
      \(script)
      """,
    ])
    #expect(outcome.status == 0, "\(outcome.output)")
    let edited = try String(contentsOfFile: file, encoding: .utf8)
    return edited == text ? configuration : edited
  }

  private static let debians = "events {\n\tworker_connections 768;\n\t# multi_accept on;\n}"

  /// With a limit of its own, and the brace in another line.
  private static let unusual =
    "worker_rlimit_nofile 4096;\nevents\n{\n  worker_connections   512; # few\n}"

  @Test func setupGivesNginxTheConnectionsThatTheSiteNeeds() throws {
    let raised = try edit(Self.debians, by: "raise; raise")
    #expect(raised.contains("\tworker_connections 8192; # switchboard: was 768;\n"))
    #expect(raised.contains("\nworker_rlimit_nofile 16384; # switchboard: added\nevents {\n"))
    #expect(
      try edit(Self.unusual, by: "raise").contains(
        "  worker_connections   8192; # switchboard: was 512; # few\n"))
  }

  @Test(arguments: [
    debians, unusual, "events { }", "events {\n  worker_connections 10000;\n}",
  ])
  func aPurgeTakesItBack(_ configuration: String) throws {
    #expect(try edit(configuration, by: "raise; restore") == configuration)
  }

  @Test(arguments: [
    "events { }", "events {\n  worker_connections 10000;\n}",
    // nginx rejects this configuration with and without the change.
    "events {\n  worker_connections 768;\n  nonsense;\n}",
  ])
  func whatIsEnoughOrUnknownStays(_ configuration: String) throws {
    #expect(try edit(configuration, by: "raise") == configuration)
  }

  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
    ("192.0.2.1", "::ffff:192.0.2.1", true), ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false),
    ("2001:db8:1:2::1", "2001:db8:1:2:ffff:a:a:a", true),
    ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
    ("2001:db8:a0a:a0a::1", "2001:db8:a0a:a0a::a0a", true),
    ("2001:db8::1", "2001:db8:0:0:1::", true),
  ])
  func aNetworkIsAnAddressOrThe64OfOne(_ one: String, _ other: String, _ areOne: Bool) throws {
    try withNetworks { network in
      #expect((network(one) == network(other)) == areOne)
      #expect(network("127.0.0.1") == network("::1"), "this machine is not counted")
      #expect(network(one) != network("127.0.0.1"))
    }
  }

  /// Calls `body` with a function that returns nginx's network of an address, by the site's own
  /// files.
  private func withNetworks(_ body: ((String) -> String) throws -> Void) throws {
    let folder = makeTemporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let port = freePort()
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder)/switchboard",
      withDestinationPath: projectFolder.appending(path: "nginx").path())
    try """
    pid \(folder)/pid; error_log \(folder)/log; events {}
    http {
      \(temporaryPaths(in: folder))
      include switchboard/http.conf;
      set_real_ip_from 127.0.0.1; real_ip_header X-Client;
      server {
        listen 127.0.0.1:\(port);
        set $admission ""; set $admission_retry_after "";
        return 200 "network $counted_network";
      }
    }
    """.write(toFile: "\(folder)/nginx.conf", atomically: true, encoding: .utf8)
    let nginx = Process()
    nginx.executableURL = URL(filePath: "/usr/bin/env")
    nginx.arguments = [
      "PATH=/usr/bin:/usr/sbin", "nginx", "-c", "\(folder)/nginx.conf", "-e", "\(folder)/log", "-g",
      "daemon off;",
    ]
    try nginx.run()
    defer {
      nginx.terminate()
      nginx.waitUntilExit()
    }
    let network = { (address: String) -> String in
      // The octets are not text, so they are shown in hexadecimal.
      Site.run([
        "bash", "-c",
        "curl -s --noproxy '*' -H 'X-Client: \(address)' http://127.0.0.1:\(port)/ | od -An -tx1",
      ]).output
    }
    wait(for: "the address in the log of the web server") { !network("192.0.2.1").isEmpty }
    try body(network)
  }

  private func temporaryPaths(in folder: String) -> String {
    let names = ["client_body", "fastcgi", "proxy", "scgi", "uwsgi"]
    return "access_log off; " + names.map { "\($0)_temp_path \(folder)/\($0);" }.joined()
  }
}
