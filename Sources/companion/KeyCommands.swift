import ArgumentParser
import Base
import Program
import Store

struct Keys: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Rotates the keys of a file while the site runs.",
    discussion: """
      A rotation has four steps; between them both programs are restarted, which loses no request:
      add a key, so that everybody knows it; use it, so that it signs; wait until nothing lives that the \
      old one signed (30 days); remove the old one.
      """,
    subcommands: [List.self, Add.self, Use.self, Remove.self], defaultSubcommand: List.self)

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
      abstract: "Lists the ids of the keys, first the one that signs.")

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
      abstract: "Adds a new key, which verifies; in a new file it signs. Prints its id.")

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
      abstract: "Has a key sign, after every program was restarted with it.")

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
      abstract: "Removes a key: what it signed is refused from the next restart on.")

    @OptionGroup var file: File
    @OptionGroup var key: ID

    func run() throws {
      var keys = try KeyFile(atPath: file.path)
      try keys.remove(key.id)
      try keys.save()
    }
  }
}
