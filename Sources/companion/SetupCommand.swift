import ArgumentParser
import Glibc

struct Setup: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Sets up the site on this host: users, database, keys, certificate, nginx. As root.",
    discussion: """
      Run it as often as you like: it changes only what is missing or asked for, and keeps your \
      edits. On a terminal it asks for missing options, unless you say --yes. Its options:

        --yes                 ask nothing
        --name NAME           the host name of the site
        --mail-command WORDS  a command that sends mail as "sendmail -t" does, or none
        --administrator MAIL  address for mails about failed services, or none
        --certificate FOLDER  folder with fullchain.pem and privkey.pem, now or later
        --pairing-allow LIST  who else than this machine may pair phones: addresses, networks; or none
        --limit-connections WORD  yes or no: whether the kernel limits the connections of each client network
        --no-site             leave nginx as it is

      Example: switchboard setup --yes --name switchboard.example.org
      Example: switchboard setup --certificate /etc/letsencrypt/live/switchboard.example.org
      Without the package: .build/release/switchboard-companion setup --from Sources/companion
      At a shared host, without root: switchboard/bin/switchboard setup --shared
      """)

  @Option(help: "The folder of the script: Sources/companion in the project's own directory.")
  var from = "/usr/share/switchboard"

  @Argument(parsing: .allUnrecognized, help: "The options above.")
  var options: [String] = []

  func run() throws {
    var arguments = (["\(from)/setup"] + options).map { strdup($0) } + [nil]
    execv(arguments[0]!, &arguments)
    throw ValidationError("\(from)/setup cannot be run. Name its folder with --from.")
  }
}
