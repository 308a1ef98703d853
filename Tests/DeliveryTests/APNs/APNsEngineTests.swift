import CNGHTTP2
import Delivery
import Foundation
import Support
import Testing

/// The engine without a socket, with handmade frames (RFC 9113).
@Suite struct APNsEngineTests {
  @Test func theFirstRequestIsAlone() {
    var line = EngineLine()
    line.feed(Frame.settings(maximumStreams: 100))
    line.submitAll(upTo: 10)
    #expect(line.submitted == 1)
    line.feed(Frame.answer(1, status: 200))
    line.submitAll(upTo: 10)
    #expect(line.submitted == 10)
  }

  @Test func aRefusedProviderTokenLeavesTheNextRequestAlone() {
    var line = EngineLine()
    line.feed(Frame.settings(maximumStreams: 100))
    line.submitAll(upTo: 1)
    line.feed(Frame.answer(1, status: 403))
    line.submitAll(upTo: 10)
    #expect(line.submitted == 2)
  }

  @Test(arguments: [0, 1, 3, 1000])
  func noMoreAreInFlightThanBothSidesAllow(_ limit: Int) {
    var line = EngineLine(window: 5)
    line.warmUp()
    line.feed(Frame.settings(maximumStreams: UInt32(limit)))
    line.submitAll(upTo: 100)
    #expect(line.engine.inFlight == min(limit, 5))
  }

  @Test func aLowerLimitIsHeededOnceItIsKnown() {
    var line = EngineLine()
    line.warmUp()
    line.feed(Frame.settings(maximumStreams: 10))
    line.submitAll(upTo: 6)
    line.feed(Frame.settings(maximumStreams: 2))
    #expect(line.engine.capacity == 0)
    for stream in [3, 5, 7] { line.feed(Frame.answer(UInt32(stream), status: 200)) }
    #expect(line.engine.capacity == 0)
    line.feed(Frame.answer(9, status: 200))
    #expect(line.engine.capacity == 1)
  }

  @Test func aPayloadThatFlowControlCutsOffIsNotOvertaken() throws {
    var line = EngineLine(payload: #"{"aps":{"alert":"\#(String(repeating: "x", count: 3000))"}}"#)
    line.warmUp()
    line.submitAll(upTo: 31)
    line.submitAll(upTo: 41)
    line.feed(Frame.windowUpdate(60_000))
    line.submitAll(upTo: 41)
    let data = line.sent(NGHTTP2_DATA)
    let cut = try #require(data.first { stream in data.count { $0 == stream } == 2 })
    let newcomer = try #require(data.firstIndex { $0 > 61 })
    #expect(try #require(data.lastIndex(of: cut)) < newcomer)
  }

  /// The server takes `taken` of 8 requests in flight, answers them, and goes away.
  @Test(arguments: 0...8)
  func goawayGivesBackExactlyWhatWasNotTaken(_ taken: Int) {
    var line = EngineLine()
    line.warmUp()
    line.submitAll(upTo: 9)
    let streams = (1...8).map { UInt32(2 * $0 + 1) }
    line.feed(
      Frame.goaway(lastStream: taken == 0 ? 1 : streams[taken - 1], #"{"reason":"Shutdown"}"#))
    #expect(line.engine.state == .closing(reason: #"{"reason":"Shutdown"}"#))
    #expect(line.engine.capacity == 0)
    #expect(line.outcomes.count { $0 == .notProcessed } == 8 - taken)
    for stream in streams.prefix(taken) { line.feed(Frame.answer(stream, status: 200)) }
    #expect(line.engine.inFlight == 0)
    #expect(line.outcomes.count(where: isAccepted) == taken)
    #expect(line.outcomes.count == 8)
  }

  /// The server takes requests, but the connection is lost before the answers.
  @Test(arguments: 0...8)
  func whatWasTakenButNotAnsweredIsUnanswered(_ taken: Int) {
    var line = EngineLine()
    line.warmUp()
    line.submitAll(upTo: 9)
    line.feed(Frame.goaway(lastStream: UInt32(2 * taken + 1), ""))
    line.engine.markFailed("lost")
    line.settle()
    #expect(line.outcomes.count { $0 == .notProcessed } == 8 - taken)
    #expect(line.outcomes.count { $0 == .unanswered } == taken)
  }

  /// nghttp2 has the requests, but has sent no byte of them.
  @Test func goawayBeforeTheRequestsHaveLeftLosesNone() {
    var line = EngineLine()
    line.warmUp()
    line.submitAll(upTo: 5, drains: false)
    line.feed(Frame.goaway(lastStream: 1, ""))
    #expect(line.outcomes == Array(repeating: .notProcessed, count: 4))
  }

  @Test(arguments: [
    (NGHTTP2_REFUSED_STREAM, APNsOutcome.notProcessed), (NGHTTP2_CANCEL, .unanswered),
  ])
  func aResetStreamIsNotProcessedOnlyIfItSaysSo(_ code: nghttp2_error_code, _ outcome: APNsOutcome)
  {
    var line = EngineLine()
    line.warmUp()
    line.submitAll(upTo: 3)
    line.feed(Frame.reset(3, code.rawValue))
    #expect(line.outcomes == [outcome])
    #expect(line.engine.state == .open)
    #expect(line.engine.inFlight == 1)
  }

  @Test func anAnswerCutOffIsNone() {
    var line = EngineLine()
    line.warmUp()
    line.submitAll(upTo: 2)
    line.feed(Frame.answer(3, status: 400, body: #"{"reason":"BadTopic"}"#, isWhole: false))
    line.feed(Frame.reset(3, NGHTTP2_INTERNAL_ERROR.rawValue))
    #expect(line.outcomes == [.unanswered])
  }

  @Test(arguments: [
    (#"{"reason":"BadTopic"}"#, "BadTopic"), (#"{ "reason" : "BadTopic" }"#, "BadTopic"),
    (#"{"other":"reason","reason":"BadTopic"}"#, "BadTopic"), ("", ""), ("<html>", ""),
    (#"{"reason":"BadTopic"#, ""), (#"{"reason":"#, ""), (#"{"reason":12}"#, ""),
    (#"{"reason":"a\nb"}"#, ""), (#"{"reason":"\#(String(repeating: "x", count: 101))"}"#, ""),
  ])
  func theReasonIsReadFromTheBody(_ body: String, _ reason: String) {
    var line = EngineLine()
    line.warmUp()
    line.submitAll(upTo: 2)
    line.feed(Frame.answer(3, status: 400, body: body))
    #expect(line.outcomes == [.rejected(status: 400, reason: .init(rawValue: reason))])
  }

  @Test func anOverdueRequestIsResetAndTheConnectionStays() {
    var line = EngineLine()
    line.warmUp()
    line.submitAll(upTo: 2)
    line.now += .seconds(4)
    line.submitAll(upTo: 3)
    line.now = line.start + .seconds(15)
    line.tick()
    #expect(line.outcomes == [.unanswered])
    #expect(line.sent(NGHTTP2_RST_STREAM) == [3])
    #expect(line.engine.inFlight == 1)
    // The answer comes too late: the stream is closed.
    line.feed(Frame.answer(3, status: 200))
    #expect(line.outcomes.count == 1)
    line.feed(Frame.answer(5, status: 200))
    #expect(line.outcomes.count == 2)
    #expect(line.engine.state == .open)
  }

  @Test func silenceIsQuestionedAndThenTheEnd() {
    var line = EngineLine()
    line.warmUp()
    line.submitAll(upTo: 3)
    line.now = line.start + .seconds(5)
    #expect(line.engine.nextTick <= line.now)
    line.tick()
    #expect(line.sent(NGHTTP2_PING).count == 1)
    line.now += .seconds(5)
    line.tick()
    #expect(line.engine.state == .failed(reason: "Apple does not answer a PING"))
    #expect(line.outcomes == [.unanswered, .unanswered])
  }

  @Test func anAnsweredPingKeepsTheConnection() {
    var line = EngineLine()
    line.warmUp()
    line.now = line.start + .seconds(5)
    line.tick()
    line.feed(Frame.make(NGHTTP2_PING, flags: 1, 0, Array(repeating: 0, count: 8)))
    line.now += .seconds(4)
    line.tick()
    #expect(line.engine.state == .open)
    #expect(line.sent(NGHTTP2_PING).count == 1)
  }

  @Test func bytesMayComeOneByOne() {
    var line = EngineLine()
    line.warmUp(oneByOne: true)
    line.submitAll(upTo: 4)
    let bytes =
      Frame.answer(3, status: 200)
      + Frame.answer(5, status: 410, body: #"{"reason":"Unregistered"}"#)
      + Frame.goaway(lastStream: 5, "")
    for byte in bytes { line.feed([byte]) }
    #expect(
      line.outcomes.dropFirst()
        == [.unregistered(reason: .init(rawValue: "Unregistered"), since: nil), .notProcessed])
    #expect(isAccepted(line.outcomes[0]))
  }

  @Test(
    arguments: [
      [0, 0, 0, 0, 0, 0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0], Array("HTTP/1.1 400".utf8),
    ] as [[UInt8]])
  func aServerThatBreaksTheRulesIsLeft(_ bytes: [UInt8]) {
    var line = EngineLine()
    line.warmUp()
    line.submitAll(upTo: 3)
    line.feed(bytes)
    guard case .failed = line.engine.state else {
      Issue.record("\(line.engine.state)")
      return
    }
    #expect(line.outcomes == [.unanswered, .unanswered])
  }

  @Test func aBodyWithoutEndIsCutOff() {
    var line = EngineLine()
    line.warmUp()
    line.submitAll(upTo: 2)
    line.feed(Frame.answer(3, status: 500, body: "", isWhole: false))
    for _ in 0..<1000 {
      line.feed(Frame.make(NGHTTP2_DATA, flags: 0, 3, Array(repeating: 0x78, count: 1000)))
    }
    line.feed(Frame.make(NGHTTP2_DATA, flags: 1, 3, []))
    #expect(line.outcomes == [.rejected(status: 500, reason: .init(rawValue: ""))])
  }

  /// No input crashes the engine, and each notification has one outcome. `SWITCHBOARD_FUZZ` sets
  /// the number of inputs from a seeded generator; the default is 2,000.
  @Test func noBytesLoseANotification() {
    let count =
      ProcessInfo.processInfo.environment["SWITCHBOARD_FUZZ"].flatMap(Int.init) ?? 2_000
    var generator = SeededGenerator(state: 1)
    var wrong: [Int] = []
    for number in 0..<count {
      var line = EngineLine()
      line.warmUp()
      line.submitAll(upTo: Int.random(in: 2...12, using: &generator))
      let frames = (0..<Int.random(in: 1...8, using: &generator)).flatMap { _ in
        Frame.random(&generator)
      }
      line.feed(generator.mutated(frames))
      line.now += .seconds(6)
      line.tick()
      line.submitAll(upTo: 14)
      line.feed(generator.mutated(frames))
      line.engine.markFailed("the end")
      line.settle()
      if Set(line.ids).count != line.submitted - 1 || line.ids.count != line.submitted - 1 {
        wrong.append(number)
      }
    }
    #expect(wrong.isEmpty)
  }
}

private func isAccepted(_ outcome: APNsOutcome) -> Bool {
  if case .accepted = outcome { true } else { false }
}
