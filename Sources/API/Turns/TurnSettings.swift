import Base
import HTTP
import Store

/// `GET /users/:user_id/settings`: returns the user's notification settings.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``.
func getTurnSettings(_ request: Request, in context: borrowing Context) throws -> Response {
  let userID = try context.authenticatedUser(of: request)
  let settings = try context.records.turnUsers.settings(of: userID)
  return .json { json in json.members(of: settings) }
}

/// `PUT /users/:user_id/settings`: changes the settings that the body names, and returns all of them.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/badRequest(_:)``; ``Failure/foreignKey``;
///   ``Failure/tooManyRequests(retryAfter:)``.
func changeTurnSettings(_ request: Request, in context: borrowing Context) throws -> Response {
  let userID = try context.authenticatedUser(of: request)
  let body = try request.decode(SettingsChange.self, orSay: "Invalid JSON")
  let settings = try context.records.turnUsers.changeSettings(of: userID, body.apply)
  return .json { json in json.members(of: settings) }
}

/// The members of a request; missing members keep their values.
private struct SettingsChange: Decodable {
  private let quietHours: GivenQuietHours??
  private let timeZone: String?
  private let kinds: [String]?
  private let liveGames: Bool?
  private let mutedGames: [Int64]?

  private enum CodingKeys: String, CodingKey {
    case quietHours = "quiet_hours"
    case timeZone = "time_zone"
    case kinds
    case liveGames = "live_games"
    case mutedGames = "muted_games"
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    quietHours =
      members.contains(.quietHours)
      ? .some(try members.decodeIfPresent(GivenQuietHours.self, forKey: .quietHours)) : nil
    timeZone = try members.decodeIfPresent(String.self, forKey: .timeZone)
    kinds = try members.decodeIfPresent([String].self, forKey: .kinds)
    liveGames = try members.decodeIfPresent(Bool.self, forKey: .liveGames)
    mutedGames = try members.decodeIfPresent([Int64].self, forKey: .mutedGames)
  }

  /// - Throws: ``Failure/badRequest(_:)``.
  func apply(to settings: inout TurnSettings) throws {
    if let quietHours { settings.quietHours = try quietHours?.hours }
    if let timeZone { settings.timeZone = try checkedTimeZone(timeZone) }
    if let kinds { settings.kinds = try Self.kinds(kinds) }
    if let liveGames { settings.tellsOfLiveGames = liveGames }
    if let mutedGames {
      guard mutedGames.count <= TurnSettings.mostMuted, mutedGames.allSatisfy({ $0 > 0 }) else {
        throw Failure.badRequest(
          "muted_games must be an array of at most \(TurnSettings.mostMuted) ids of games")
      }
      settings.mutedGames = Array(Set(mutedGames)).sorted()
    }
  }

  private static func kinds(_ words: [String]) throws -> TurnSettings.Kinds {
    try words.reduce(into: []) { kinds, word in
      guard let kind = allKinds.first(where: { $0.word == word }) else {
        throw Failure.badRequest("kinds must be an array of turn, game_ended and clock")
      }
      kinds.insert(kind.kind)
    }
  }
}

private let allKinds: [(word: String, kind: TurnSettings.Kinds)] = [
  ("turn", .turn), ("game_ended", .gameEnded), ("clock", .clock),
]

extension JSONWriter {
  fileprivate mutating func members(of settings: TurnSettings) {
    if let hours = settings.quietHours {
      member(
        "quiet_hours",
        object: { json in
          json.member("from", clock(hours.from))
          json.member("to", clock(hours.to))
        })
    } else {
      member("quiet_hours", nil as String?)
    }
    member("time_zone", settings.timeZone)
    member(
      "kinds",
      array: { array in
        for (word, kind) in allKinds where settings.kinds.contains(kind) { array.string(word) }
      })
    member("live_games", settings.tellsOfLiveGames)
    member(
      "muted_games",
      array: { array in
        for id in settings.mutedGames { array.integer(id) }
      })
  }
}

/// The time `HH:MM` of minutes since midnight.
private func clock(_ minutes: Int64) -> String {
  func digits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
  return "\(digits(minutes / 60)):\(digits(minutes % 60))"
}

extension Endpoint {
  static var getTurnSettings: Endpoint {
    Endpoint(API.getTurnSettings) {
      Operation(
        "Returns the user's notification settings.", .apiKey, item: .turnUser,
        answers: .json(.turnSettings), errors: [.foreignKey])
    }
  }

  static var changeTurnSettings: Endpoint {
    Endpoint(API.changeTurnSettings) {
      Operation(
        "Changes the settings that the body names, and returns all of them.", .apiKey,
        item: .turnUser, body: .json(SettingsChange.self), answers: .json(.turnSettings),
        errors: [.foreignKey], limits: [.turnSettings])
    }
  }
}

extension Schema {
  fileprivate static let turnSettings: Schema =
    ([
      "quiet_hours": (["from": .string, "to": .string] as Schema).orNull,
      "time_zone": .string, "kinds": .array(of: .words(allKinds.map(\.word))),
      "live_games": .boolean,
      "muted_games": .array(of: .integer, atMost: TurnSettings.mostMuted),
    ] as Schema).named("TurnSettings")
}
