import Administration
import ArgumentParser
import Glibc

/// Output format of a command.
struct Output: ParsableArguments {
  @ArgumentParser.Flag(help: "Print one JSON document. Times are as in RFC 3339.")
  var json = false

  func print(_ answer: some CommandAnswer) {
    Swift.print(json ? String(decoding: answer.json, as: UTF8.self) : answer.text)
  }

  /// - Throws: ``NotFound`` if there is no answer.
  func print(_ answer: (some CommandAnswer)?, orNotFound sentence: String) throws {
    guard let answer else { throw NotFound(sentence) }
    print(answer)
  }
}

/// An argument is well-formed, but names something that does not exist.
struct NotFound: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// Option of commands that change something.
struct Rehearsal: ParsableArguments {
  @ArgumentParser.Flag(help: "Say what would be done, and change nothing.")
  var dryRun = false
}

/// Option of commands that list something.
struct ListLimit: ParsableArguments {
  @Option(name: .customLong("limit"), help: "How many to list at most.")
  var count = 100

  func validate() throws {
    guard (1...10_000).contains(count) else {
      throw ValidationError("--limit must be a number from 1 to 10000.")
    }
  }
}

/// Option for the e-mail address of an account.
struct AccountEmail: ParsableArguments {
  @Option(help: "E-mail address of the account.")
  var email: String

  static let notFound = "No account has this e-mail address."
}
