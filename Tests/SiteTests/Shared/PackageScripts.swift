import Foundation
import Support

/// The scripts of the package, which read and write below a folder instead of /. Fakes take the place of debconf and of
/// the programs that would change the machine. setup ends after the settings and nginx's list of who may pair phones.
struct PackageScripts: ~Copyable {
  let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()

  /// - Parameter settings: the environment file.
  init(settings: String) throws {
    for name in ["bin", "answers", "etc/switchboard", "etc/nginx/switchboard"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    for name in ["sites-available", "sites-enabled"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder)/etc/nginx/\(name)", withIntermediateDirectories: true)
    }
    try write(settings, to: "etc/switchboard/environment")
    try write(
      """
      db_set() { printf %s "$2" >"\(folder)/answers/${1#*/}"; }
      db_get() { RET=$(cat "\(folder)/answers/${1#*/}" 2>/dev/null) || RET=; }
      db_input() { :; }
      db_go() { :; }
      """, to: "usr/share/debconf/confmodule")
    try write("true", to: "answers/site")
    try write("true", to: "answers/purge")
    for name in ["deb-systemd-invoke", "dpkg-query", "invoke-rc.d", "msmtp", "ucf"] {
      try write("#!/bin/sh\n", to: "bin/\(name)")
    }
    try write("#!/bin/sh\necho server7.example.net\n", to: "bin/hostname")
    try write(
      "#!/bin/sh\necho \"$@\" >>\(folder)/statements\ncat >>\(folder)/statements\n",
      to: "bin/mariadb")
    for name in ["config", "postinst", "postrm", "prerm"] {
      try write(script("debian/switchboard.\(name)"), to: name)
    }
    for name in ["environment.sh", "setup.sh", "setup"] {
      try write(script("companion/\(name)"), to: "usr/share/switchboard/\(name)")
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }  // It is in the temporary folder.

  /// Writes an executable file below the folder.
  func write(_ text: String, to name: String) throws {
    try writeScript(text, to: "\(folder)/\(name)")
  }

  /// The text of a file below the folder, or nil if there is none.
  func text(_ name: String) -> String? {
    FileManager.default.contents(atPath: "\(folder)/\(name)").map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  var settings: String? { text("etc/switchboard/environment") }

  /// A script of Sources with other paths, as the package has it.
  private func script(_ name: String) throws -> String {
    func source(_ name: String) throws -> String {
      try String(contentsOf: projectFolder.appending(path: "Sources/\(name)"), encoding: .utf8)
    }
    return try source(name)
      .replacing("\n. environment.sh\n", with: "\n\(source("companion/environment.sh"))\n")
      .replacing(#/([^A-Za-z0-9_}])/(etc|usr/share|run|var)//#) {
        "\($0.output.1)\(folder)/\($0.output.2)/"
      }
      .replacing("\nPATH=", with: "\nPATH=\(folder)/bin:")
      .replacing(
        "\nmain \"$@\"; exit\n",
        with: "\nparse_options \"$@\"; find_answers; write_environment; write_pairing_allow\n")
  }

  /// Runs a script below the folder by the program that its first line names.
  func run(_ name: String, _ arguments: [String]) -> (status: Int32, output: String) {
    let path = "PATH=\(folder)/bin:\(ProcessInfo.processInfo.environment["PATH"]!)"
    return runProgram("env", [path, "\(folder)/\(name)"] + arguments)
  }

  func setUp(_ options: [String] = []) -> (status: Int32, output: String) {
    run("usr/share/switchboard/setup", ["--yes"] + options)
  }

  /// Does what dpkg does with the scripts in an upgrade.
  func upgrade() -> (status: Int32, output: String) {
    let asked = run("config", ["configure", "1.0"])
    return asked.status == 0 ? run("postinst", ["configure", "1.0"]) : asked
  }
}
