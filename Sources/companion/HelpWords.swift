import ArgumentParser

extension ParsableCommand {
  /// Refuses `help` for an unknown command, for which ArgumentParser would show other help with
  /// status 0.
  ///
  /// - Throws: `ValidationError` if the words after `help` are not a command.
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
