import Glibc
import Support
import Testing

/// The scripts that run when the package is upgraded or purged, and setup, which an upgrade runs.
@Suite struct PackageScriptTests {
  private static let rest = """

    SWITCHBOARD_MAIL_FROM=switchboard@example.org
    SWITCHBOARD_MAIL_COMMAND="msmtp -t"

    """
  private static let address = "SWITCHBOARD_PUBLIC_URL=https://example.org\(rest)"

  /// An upgrade and setup leave addresses alone that hold more than the host's name.
  @Test(arguments: [
    "https://example.org/switchboard", "https://example.org:8443", "https://example.org/",
    "\"https://example.org:8443/a, https://old.example.org\"", "https://example.org",
  ])
  func theAddressOfTheSiteStays(address: String) throws {
    let text = "SWITCHBOARD_PUBLIC_URL=\(address)\(Self.rest)"
    let scripts = try PackageScripts(settings: text)
    let upgraded = scripts.upgrade()
    #expect(upgraded.status == 0, "\(upgraded.output)")
    #expect(scripts.text("answers/name") == "example.org")
    #expect(scripts.settings == text)
    let again = scripts.setUp()
    #expect(again.status == 0, "\(again.output)")
    #expect(scripts.settings == text)
  }

  @Test func aNewNameKeepsThePortAndThePath() throws {
    let scripts = try PackageScripts(
      settings: "SWITCHBOARD_PUBLIC_URL=https://example.org:8443/a\(Self.rest)")
    let outcome = scripts.setUp(["--name", "b.example.org"])
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(
      scripts.settings == "SWITCHBOARD_PUBLIC_URL=\"https://b.example.org:8443/a\"\(Self.rest)")
  }

  /// An administrator closes the file if it holds secrets.
  @Test func settingsThatWereClosedStayClosed() throws {
    let scripts = try PackageScripts(settings: Self.address)
    let file = "\(scripts.folder)/etc/switchboard/environment"
    try #require(chmod(file, 0o600) == 0)
    let outcome = scripts.setUp(["--name", "b.example.org"])
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(scripts.settings?.contains("https://b.example.org") == true)
    #expect(runProgram("stat", ["--format=%a", file]).output == "600\n")
  }

  @Test func aNewSiteGetsTheNameOfTheHost() throws {
    let scripts = try PackageScripts(settings: "")
    try #require(runProgram("rm", ["\(scripts.folder)/etc/switchboard/environment"]).status == 0)
    let outcome = scripts.upgrade()
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(
      scripts.settings?.contains("SWITCHBOARD_PUBLIC_URL=\"https://server7.example.net\"\n") == true
    )
  }

  /// setup takes over only a list that the administrator wrote.
  @Test func pairingThatWasClosedStaysClosed() throws {
    let scripts = try PackageScripts(settings: Self.address)
    let list = "etc/nginx/switchboard/pairing.allow"
    func setUp(_ options: String...) {
      let outcome = scripts.setUp(options)
      #expect(outcome.status == 0, "\(outcome.output)")
    }
    try scripts.write("allow 198.51.100.1;\n", to: list)
    setUp()
    #expect(scripts.settings?.contains("ALLOW=\"198.51.100.1\"\n") == true)
    setUp("--pairing-allow", "192.0.2.0/24")
    #expect(scripts.text(list)?.contains("\nallow 192.0.2.0/24;\n") == true)
    try scripts.write(Self.address, to: "etc/switchboard/environment")
    setUp()
    #expect(scripts.text(list) == nil)
    #expect(scripts.settings == Self.address)
  }

  @Test func blanksInTheListOfWhoMayPairPhonesAreTaken() throws {
    let scripts = try PackageScripts(
      settings: "\(Self.address)SWITCHBOARD_PAIRING_ALLOW=\" 192.0.2.0/24 , 2001:db8::1\"\n")
    let outcome = scripts.upgrade()
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(
      scripts.text("etc/nginx/switchboard/pairing.allow")?.hasSuffix(
        "\nallow 192.0.2.0/24;\nallow 2001:db8::1;\n") == true)
  }

  /// An administrator may add servers to the site's file.
  @Test func theFirstCertificateIsTheSites() throws {
    let scripts = try PackageScripts(settings: Self.address)
    try scripts.write(
      """
      server {
        ssl_certificate     /etc/letsencrypt/live/example.org/fullchain.pem;
      }
      server {
        ssl_certificate     /etc/letsencrypt/live/other.example/fullchain.pem;
      }

      """, to: "etc/nginx/sites-available/switchboard")
    for outcome in [scripts.upgrade(), scripts.setUp()] {
      #expect(outcome.status == 0, "\(outcome.output)")
    }
    #expect(scripts.text("answers/certificate") == "/etc/letsencrypt/live/example.org")
  }

  /// Without MariaDB (75) or a name (78), a site that was set up before stands still, also after dpkg's trigger.
  @Test(arguments: [75, 78], ["configure", "triggered"])
  func onlyANewSiteMayLackADatabaseOrAName(status: Int, action: String) throws {
    let scripts = try PackageScripts(settings: Self.address)
    try scripts.write("#!/bin/sh\nexit \(status)\n", to: "usr/share/switchboard/setup")
    try scripts.write("", to: "run/systemd/system/a.service")
    #expect(scripts.run("postinst", [action]).status == 0)
    try scripts.write("keys", to: "etc/switchboard/secrets/jwt-keys")
    #expect(scripts.run("postinst", [action]).status == 1)
  }

  /// The config script answers with the present settings, so that an upgrade does not change them.
  @Test(arguments: LauncherTests.settings)
  func theConfigScriptReadsSettingsAsSystemdDoes(text: String, expected: String) throws {
    let scripts = try PackageScripts(
      settings: "\(text.replacing("A", with: "SWITCHBOARD_MAIL_COMMAND"))\n")
    let outcome = scripts.run("config", ["configure", "1.0"])
    #expect(outcome.status == 0, "\(outcome.output)")
    let isUnset = ["[]", "[no value]"].contains(expected)
    #expect(
      scripts.text("answers/mail-command")
        == (isUnset ? "none" : "\(expected.dropFirst().dropLast())"))
  }

  /// A purge deletes only the database that the programs use.
  @Test(arguments: LauncherTests.settings)
  func aPurgeReadsSettingsAsSystemdDoes(text: String, expected: String) throws {
    let name = "\(expected.dropFirst().dropLast())"
    let setting = text.replacing("A", with: "SWITCHBOARD_DB_NAME")
    let scripts = try PackageScripts(settings: "SWITCHBOARD_DB_SOCKET='/run/other'\n\(setting)\n")
    let outcome = scripts.run("postrm", ["purge"])
    #expect(outcome.status == 0, "\(outcome.output)")
    let database = ["", "no value"].contains(name) ? "switchboard" : name
    let statements = scripts.text("statements")
    if database.wholeMatch(of: #/[A-Za-z0-9_]+/#) != nil {
      #expect(statements?.hasPrefix("--user=root --socket=/run/other\n") == true)
      #expect(statements?.contains("\nDROP DATABASE IF EXISTS \(database);\n") == true)
    } else {
      #expect(statements == nil)
      #expect(outcome.output.contains("no database was deleted"))
    }
  }

  /// node_exporter would report the last metrics for ever.
  @Test func aRemovalDeletesTheMetrics() throws {
    let scripts = try PackageScripts(settings: "SWITCHBOARD_METRICS_FILE=/dev/null/none.prom\n")
    let setting = "SWITCHBOARD_METRICS_FILE='\(scripts.folder)/metrics.prom'\n"
    try scripts.write(setting, to: "etc/switchboard/environment-companion")
    try scripts.write("", to: "metrics.prom")
    #expect(scripts.run("prerm", ["upgrade", "2.0"]).status == 0)
    #expect(scripts.text("metrics.prom") != nil)
    #expect(scripts.run("prerm", ["remove"]).status == 0)
    #expect(scripts.text("metrics.prom") == nil)
  }
}
