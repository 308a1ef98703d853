import CNGHTTP2
import Cryptography
import Delivery
import Foundation
import Support
import Testing

/// The cases of h2specd, the client mode of h2spec: the frames of its server, played to the engine.
@Suite struct H2SpecTests {
  struct Case: Decodable {
    let name: String
    /// The server's frames, in base64, in the order of its writes.
    let frames: [Data]
    let expect: Expectation
    /// Error codes that the suite accepts.
    let codes: [UInt32]?
    /// Payload of the expected answer to PING.
    let data: String?
  }

  enum Expectation: String, Decodable {
    case settingsAck = "settings-ack"
    case pingAck = "ping-ack"
    /// GOAWAY.
    case goaway, connection
    /// RST_STREAM.
    case reset
    /// RST_STREAM or GOAWAY.
    case stream
    /// The end of the connection.
    case close
  }

  /// Reactions of the engine that the suite accepts, because the connection ends too.
  enum Policy: String {
    /// The engine keeps no ended streams, and ignores frames on them. The sender then has its answer, and closes the
    /// connection.
    case streamHasEnded
    /// The engine closes the connection for an earlier fault of the same frame: its stream is idle, or it comes before
    /// the first SETTINGS.
    case otherCode
  }

  static let policies: [String: Policy] = [
    "4.3/1": .otherCode, "5.1/5": .streamHasEnded, "5.1/6": .streamHasEnded,
    "5.1/8": .streamHasEnded, "5.1/9": .streamHasEnded, "6.1/2": .streamHasEnded,
    "6.5/1": .otherCode,
  ]

  @Test func theEngineReactsAsTheSuiteSays() throws {
    var tally = ForeignTally()
    for test in try foreignCases("h2spec.json", as: [Case].self) {
      var line = EngineLine()
      line.submitAll(upTo: 1)
      for frame in test.frames { line.feed(Array(frame)) }
      let policy = Self.policies[test.name]
      tally.add(
        test.name, reacts(line, to: test), isValid: true, policy: policy?.rawValue)
      let isError = policy == .otherCode || test.expect == .connection && policy == nil
      if isError || test.expect == .close { #expect(hasFailed(line), "\(test.name)") }
    }
    #expect(try tally.total == foreignCounts()["h2spec.json"])
    #expect(tally.unexplained == [])
    #expect(tally.counts == ["accepted": 50, "streamHasEnded": 5, "otherCode": 2])
  }

  private func reacts(_ line: EngineLine, to test: Case) -> Bool {
    func sends(_ types: nghttp2_frame_type...) -> Bool {
      line.frames.contains { frame in
        types.contains { $0.rawValue == frame.type }
          && frame.errorCode.map { test.codes?.contains($0) ?? false } ?? false
      }
    }
    let answers = line.frames.filter(\.isAcknowledgement)
    return switch test.expect {
    case .settingsAck: answers.contains { $0.type == NGHTTP2_SETTINGS.rawValue }
    case .pingAck:
      answers.contains {
        $0.type == NGHTTP2_PING.rawValue && hexEncoded($0.payload) == test.data
      }
    case .goaway, .connection: sends(NGHTTP2_GOAWAY)
    case .reset: sends(NGHTTP2_RST_STREAM)
    case .stream: sends(NGHTTP2_RST_STREAM, NGHTTP2_GOAWAY)
    case .close: hasFailed(line)
    }
  }

  private func hasFailed(_ line: EngineLine) -> Bool {
    if case .failed = line.engine.state { true } else { false }
  }
}
