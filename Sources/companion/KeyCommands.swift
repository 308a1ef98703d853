import ArgumentParser
import Base
import Program
import Store

struct Keys: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Rotates the keys in a file while the site runs.",
    discussion: """
      A rotation has four steps. Restart both programs after each; no request is lost.
      1. Add a key: every program knows it then. 2. Use it: it signs then. 3. Wait until everything that \
      the old key signed has expired (30 days). 4. Remove the old key.
      The companion's own keys have public halves, which the responder knows: write them anew with "keys public" after \
      you have used or removed a key.
      """,
    subcommands: [List.self, Add.self, Use.self, Remove.self, Public.self],
    defaultSubcommand: List.self)

  struct File: ParsableArguments {
    @Argument(help: "The file, as SWITCHBOARD_JWT_KEYS_FILE names one.", completion: .file())
    var path: String
  }

  struct ID: ParsableArguments {
    @Argument(help: "The id of the key.")
    var id: String
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the ids of the keys. The first one signs.")

    @OptionGroup var file: File

    func run() throws {
      let ids = try KeyFile(atPath: file.path).ids
      for (number, id) in ids.enumerated() {
        print("\(id)  \(number == 0 ? "signs" : "verifies")")
      }
    }
  }

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds a new key, which verifies only; in a new file it signs. Prints its id.")

    @OptionGroup var file: File

    func run() throws {
      var keys = try KeyFile(atPath: file.path, orNew: true)
      let id = keys.add(named: String(Timestamp.now().rfc3339.prefix(10)))
      try keys.save()
      print(id)
    }
  }

  struct Use: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes a key sign. Restart every program with the key before.")

    @OptionGroup var file: File
    @OptionGroup var key: ID

    func run() throws {
      var keys = try KeyFile(atPath: file.path)
      try keys.promote(key.id)
      try keys.save()
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes a key. What it signed is refused after the next restart.")

    @OptionGroup var file: File
    @OptionGroup var key: ID

    func run() throws {
      var keys = try KeyFile(atPath: file.path)
      try keys.remove(key.id)
      try keys.save()
    }
  }

  struct Public: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints the public halves of the companion's keys, for the responder.")

    @Argument(
      help: "The file that SWITCHBOARD_COMPANION_KEYS_FILE names.", completion: .file())
    var path: String

    func run() throws {
      for entry in try KeyFile(atPath: path).publicEntries() { print(entry) }
    }
  }
}
