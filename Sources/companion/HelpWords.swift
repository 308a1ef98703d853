import ArgumentParser

extension ParsableCommand {
  /// ArgumentParser shows the nearest help there is, and calls that a success.
  ///
  /// - Throws: `ValidationError` where `help` is followed by words that are no command.
  static func refuseUnknownHelp(_ arguments: ArraySlice<String>) throws {
    guard arguments.first == "help" else { return }
    var command: any ParsableCommand.Type = Self.self
    for word in arguments.dropFirst() where !word.hasPrefix("-") {
      guard let next = command.configuration.subcommands.first(where: { $0._commandName == word })
      else {
        throw ValidationError("There is no command \(word): see \(_commandName) help.")
      }
      command = next
    }
  }
}
