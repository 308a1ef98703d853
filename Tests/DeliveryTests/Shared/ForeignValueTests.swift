import Base
import Foundation
import MariaDB
import Store
import Support
import Testing

@testable import Delivery

/// Numbers and texts of others, up to the values of statements and the fields of requests.
@Suite(.serialized) struct ForeignValueTests {
  /// Milliseconds, of which no program may die.
  private static let numbers = [
    Int64.min, .min + 1, -62_167_219_200_001, -1, 253_402_300_800_000, 1_795_878_612_000_000_000,
    .max - 1, .max,
  ]
  private static let extremes = numbers.map { "\($0)" } + ["1e18", "-1e300", "9223372036854775808"]

  @Test(arguments: extremes)
  func aClockOutsideOfTheCalendarHindersNoTurn(end: String) throws {
    try withPolling { polling throws in
      try polling.register()
      try polling.register(8)
      for user in [Int64(7), 8] {
        _ = try polling.responder.turnUsers.changeSettings(of: user) { $0.kinds = [.turn, .clock] }
      }
      polling.site.answer(7, .body(full([FakeGame(clock: #","expiration":\#(end)"#)])))
      polling.site.answer(8, .body(full([FakeGame(id: 2, name: "other", player: "8")])))
      try polling.poll()
      try polling.deliver()
      #expect(polling.alerts == ["It's your turn in: game", "It's your turn in: other"])
    }
  }

  @Test(arguments: extremes)
  func aMoveOutsideOfTheCalendarLeavesOutItsGameAlone(move: String) throws {
    try withPolling { polling throws in
      try polling.register()
      let strange = FakeGame(id: 1, lastMove: move)
      polling.site.answer(7, .body(full([strange, FakeGame(id: 2, name: "other")])))
      try polling.poll()
      try polling.deliver()
      #expect(polling.alerts == ["It's your turn in: other"])
    }
  }

  @Test(arguments: extremes)
  func appleRemovesNoTokenAtATimeThatCannotBeTrue(time: String) {
    let body = Array(#"{"reason":"Unregistered","timestamp":\#(time)}"#.utf8)
    let outcome = APNsOutcome(status: 410, body: body.span, apnsID: "id")
    #expect(outcome == .unregistered(reason: .init(rawValue: "Unregistered"), since: nil))
    #expect(outcome.action(attempts: 1, retries: APNsRetries(delay: .seconds(900))) == .keepToken)
  }

  /// Apple's answer becomes a value of a statement.
  @Test(arguments: [Int64(0), 1_795_878_612_000, 253_402_300_799_999])
  func aTimeOfTheCalendarIsStored(time: Int64) throws {
    try withDelivery { delivery throws in
      let since = try #require(Timestamp(givenMilliseconds: time))
      #expect(
        try delivery.deliveries.removeDeadToken(
          String(repeating: "a", count: 64), registeredBefore: since) == 0)
    }
  }

  /// curl reads years of ten digits.
  @Test(arguments: [
    ("Thu, 01 Jan 1970 00:00:00 GMT", Int64(0)), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ("Sat, 01 Jan 10000 00:00:00 GMT", nil), ("Sat, 01 Jan 2147483647 00:00:00 GMT", nil),
    ("Sat, 01 Jan 1600 00:00:00 GMT", nil), ("never", nil), ("", nil),
  ])
  func aDateOutsideOfTheCalendarIsNoDate(text: String, seconds: Int64?) {
    #expect(HTTPClient.date(text)?.seconds == seconds)
  }

  @Test(arguments: numbers)
  func aMailFromATimeOutsideOfTheCalendarIsNone(at: Int64) {
    let json = #"{"secret":"","language":"en","device":"","address":"","at":\#(at)}"#
    #expect(MailContent(json: Array(json.utf8)) == nil)
  }

  @Test(arguments: ["\r\nX: y", "\nX: y", "\rX: y", "\u{0}", "a\r\n\r\nGET / HTTP/1.1\r\n"])
  func noFieldThatGoesOutHasALineEnd(text: String) {
    let client = HTTPClient(userAgent: "test")
    let (port, limits) = (freePort(), HTTPClient.Limits())
    #expect(throws: HTTPError(kind: .malformed, reason: "a field of the request has a line end")) {
      _ = try client.post(
        [], to: .configured("http://127.0.0.1:\(port)/"), fields: ["X-Field: \(text)"],
        limits: limits)
    }
    #expect(throws: HTTPError(kind: .malformed, reason: "a field of the request has a line end")) {
      _ = try client.ask(
        .configured("http://127.0.0.1:\(port)/"), authorization: "Bearer \(text)", limits: limits)
    }
    #expect(throws: HTTPError.malformed) {
      _ = try client.get(
        .configured("http://127.0.0.1:\(port)/\(text)"), entityTag: nil, limits: limits)
    }
  }

  /// Whoever can write the row would send requests of their own to online-go.com.
  @Test func aTagWithLineEndsIsNotSent() throws {
    try withPolling { polling throws in
      try polling.register()
      _ = polling.sql(
        #"""
        UPDATE ogs_users SET entity_tag = 'x\r\n\r\nGET /api/v1/players/8/full HTTP/1.1\r\nHost: a\r\nX: y'
        """#)
      polling.site.answer(7, .body(full([FakeGame()])))
      try polling.poll()
      try polling.deliver()
      #expect(polling.alerts == ["It's your turn in: game"])
      #expect(polling.site.count(7) == 1)
      #expect(polling.site.count(8) == 0)
    }
  }
}
