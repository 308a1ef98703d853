import Foundation

/// A game in the format of online-go.com, with only the members that we read. User 7 is to move.
package struct FakeGame {
  package var id = 1
  package var name = "game"
  /// JSON, like the next properties.
  package var phase = #""play""#
  package var player = "7"
  package var lastMove = "1000"
  /// Additional members of `json` and of its `clock`.
  package var more = ""
  package var clock = ""

  package init(
    id: Int = 1, name: String = "game", phase: String = #""play""#, player: String = "7",
    lastMove: String = "1000", more: String = "", clock: String = ""
  ) {
    self.id = id
    self.name = name
    self.phase = phase
    self.player = player
    self.lastMove = lastMove
    self.more = more
    self.clock = clock
  }

  package var json: String {
    #"{"id":\#(id),"name":"\#(name)","width":19,"json":{"moves":[[1,2,3],[4,5]],"phase":\#(phase),"#
      + #""clock":{"current_player":\#(player),"last_move":\#(lastMove)\#(clock)}\#(more)}}"#
  }
}

/// The answer of `/api/v1/players/{user}/full`.
package func full(_ games: [FakeGame], of user: Int64 = 7) -> String {
  full(games.map(\.json), of: user)
}

package func full(_ games: [String], of user: Int64 = 7) -> String {
  #"{"user":{"id":\#(user)},"active_games":[\#(games.joined(separator: ","))],"ladders":[]}"#
}

/// Users and games as folders and files, so that writing a file makes a move.
package struct GameFolder: Sendable {
  package static let grammar = """
    A folder FOLDER/USER is a user, and a file FOLDER/USER/GAME a game of theirs. The file holds a word, \
    and after it the game's name: `mine` or `theirs` says whose turn it is; where `paused`, \
    `stone-removal` or `finished` stands, the clock still names the user, as that of the real ones does. \
    Its modification time is that of the last move: to write it is to move. An empty one is none yet.

    While there is a file FOLDER/fault, it says what everybody gets: `status NUMBER [RETRY-AFTER]`, \
    `maintenance` (a page, with status 200) or `silence`.
    """

  private let path: String

  package init(_ path: String) { self.path = path }

  /// The answer about `user`; 500 with an explanation if a file does not follow ``grammar``.
  package func answer(to user: Int64) -> FakeOGS.Answer {
    do {
      if let fault = try? text(of: "fault") { return try answer(fault) }
      let files = try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(user)")
      guard let files else { return .notFound }
      let ids = files.compactMap { Int($0) }.sorted()
      return .body(full(try ids.compactMap { try game($0, of: user) }, of: user))
    } catch {
      return .status(500, body: #"{"detail":\#(quoted("\(error)"))}"#)
    }
  }

  private struct Complaint: Error, CustomStringConvertible { let description: String }

  private func text(of name: String) throws -> String {
    try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private func answer(_ fault: String) throws -> FakeOGS.Answer {
    let words = fault.split(separator: " ").map(String.init)
    switch words.first {
    case "silence": return .silence
    case "maintenance": return .body("<html><body>We will be back soon.</body></html>")
    case "status":
      guard words.count > 1, let status = Int(words[1]) else { break }
      let fields = words.dropFirst(2).map { "Retry-After: \($0)" }
      return .status(status, body: #"{"detail":"Status \#(status)."}"#, fields: Array(fields))
    default: break
    }
    throw Complaint(description: "not a fault: \(fault)")
  }

  private func game(_ id: Int, of user: Int64) throws -> FakeGame? {
    let name = "\(user)/\(id)"
    let words = try text(of: name).split(separator: " ", maxSplits: 1).map(String.init)
    if words.isEmpty { return nil }
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
    let moved = attributes[.modificationDate] as? Date ?? .distantPast
    let quotedName = quoted(words.count > 1 ? words[1] : "Game \(id)")
    var game = FakeGame(
      id: id, name: String(quotedName.dropFirst().dropLast()),
      player: "\(user)", lastMove: "\(Int64(moved.timeIntervalSince1970 * 1000))")
    switch words[0] {
    case "mine": break
    case "theirs": game.player = "\(user + 1)"
    case "paused":
      let pause = #"{"paused":{"pausing_player_id":\#(user + 1),"pauses_left":4}}"#
      game.more = #","pause_control":\#(pause)"#
    case "stone-removal":
      game.phase = #""stone removal""#
      game.more = #","pause_control":{"stone-removal":true}"#
    case "finished": game.phase = #""finished""#
    default: throw Complaint(description: "\(name) is no game: \(words[0])")
    }
    return game
  }

  private func quoted(_ text: String) -> String {
    guard let json = try? JSONEncoder().encode(text) else { preconditionFailure("no JSON") }
    return String(decoding: json, as: UTF8.self)
  }
}
