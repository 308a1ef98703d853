import Administration
import ArgumentParser
import Base
import ProcessSupport
import SharedSettings
import Store

struct Keys: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Rotates the keys in a file while the site runs.",
    discussion: """
      A rotation has three steps; no request is lost.
      1. Add a key, copy the file to the other hosts, and restart the responder on every host: the key only verifies \
      then. Do not add a key on each host: those would be different keys with one id.
      2. Use it, for payment-keys after at least 5 minutes, and restart them again: it signs then.
      3. When everything that the old key signed has expired, remove the old key, and restart them again. That takes \
      30 days for jwt-keys, hmac-keys and companion-keys, 90 days for credential-keys, and an hour for payment-keys.
      The companion reads its keys at each pass; "watch" must be restarted. Its keys have public halves, which the \
      responder knows: write them again with "keys public" after you have used or removed a key.
      """,
    subcommands: [List.self, Add.self, Use.self, Remove.self, Public.self, VAPID.self],
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
      abstract: "Lists the ids of the keys. The first one signs.",
      discussion: "Example: switchboard-companion keys /etc/switchboard/secrets/jwt-keys")

    @OptionGroup var file: File
    @OptionGroup var output: Output

    func run() throws {
      output.print(Report(ofKeys: try KeyFile(atPath: file.path).ids))
    }
  }

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds a new key, which verifies only; in a new file it signs. Prints its id.",
      discussion: "Example: switchboard-companion keys add /etc/switchboard/secrets/jwt-keys")

    @OptionGroup var file: File
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      var keys = try KeyFile(atPath: file.path, orNew: true)
      let id = keys.add(named: String(Timestamp.now().rfc3339.prefix(10)))
      if !rehearsal.dryRun { try keys.save() }
      output.print(NewKey(id: id, isRehearsal: rehearsal.dryRun))
    }
  }

  struct Use: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes a key sign. Restart every program with the key before.",
      discussion:
        "Example: switchboard-companion keys use /etc/switchboard/secrets/jwt-keys 2026-11-22")

    @OptionGroup var file: File
    @OptionGroup var key: ID
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      var keys = try KeyFile(atPath: file.path)
      try keys.promote(key.id)
      if !rehearsal.dryRun { try keys.save() }
      output.print(
        Change(
          isRehearsal: rehearsal.dryRun, "Put", or: "put",
          "the key \(key.id) first: it signs after a restart of the programs."))
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes a key. What it signed is refused after the next restart.",
      discussion:
        "Example: switchboard-companion keys remove /etc/switchboard/secrets/jwt-keys 2026-08-01")

    @OptionGroup var file: File
    @OptionGroup var key: ID
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      var keys = try KeyFile(atPath: file.path)
      try keys.remove(key.id)
      if !rehearsal.dryRun { try keys.save() }
      output.print(
        Change(
          isRehearsal: rehearsal.dryRun, "Removed", or: "remove",
          "the key \(key.id): what it signed is refused after a restart of the programs."))
    }
  }

  struct VAPID: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "vapid",
      abstract:
        "Prints the public half of the key for Web Push, for the responder. Makes the key if there is none.",
      discussion: """
        Pages subscribe for this key: with another one, every browser must subscribe again.
        Example: switchboard-companion keys vapid /etc/switchboard/secrets/vapid-key \
        >/etc/switchboard/secrets/vapid-public-key
        """)

    @Argument(help: "The file that WEBPUSH_VAPID_KEY_FILE names.", completion: .file())
    var path: String
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      let file = try VAPIDKeyFile(atPath: path, isRehearsal: rehearsal.dryRun)
      output.print(
        VAPIDKey(publicKey: file.publicKey, isNew: file.isNew, isRehearsal: rehearsal.dryRun))
    }
  }

  struct Public: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints the public halves of the companion's keys, for the responder.",
      discussion: """
        Example: switchboard-companion keys public /etc/switchboard/secrets/companion-keys >new && \
        mv new /etc/switchboard/secrets/companion-public-keys
        """)

    @Argument(
      help: "The file that SWITCHBOARD_COMPANION_KEYS_FILE names.", completion: .file())
    var path: String
    @OptionGroup var output: Output

    func run() throws {
      output.print(PublicKeys(entries: try KeyFile(atPath: path).publicEntries()))
    }
  }
}
