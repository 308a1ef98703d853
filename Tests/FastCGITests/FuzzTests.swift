import Foundation
import Testing

@testable import FastCGI

/// Bytes that no web server sends. `SWITCHBOARD_FUZZ` is the number of rounds.
@Suite struct FuzzTests {
  private static let rounds =
    ProcessInfo.processInfo.environment["SWITCHBOARD_FUZZ"].flatMap { Int($0) } ?? 300

  /// SplitMix64, for the same bytes in every run.
  private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var mixed = state
      mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
      mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
      return mixed ^ mixed >> 31
    }
  }

  private static func bytes(_ generator: inout Generator) -> [UInt8] {
    let valid = requestBytes(
      "POST", "/a?b=c", [("HTTP_ORIGIN", "x"), ("HTTP_X", String(repeating: "y", count: 200))],
      body: Array("body".utf8), keep: true, recordSize: 100, padding: 5)
    switch Int.random(in: 0..<4, using: &generator) {
    case 0:
      return noise(0...255, count: 400, &generator)
    case 1:
      return beginRecord(keep: true) + stream(.params, noise(0...255, count: 400, &generator))
        + stream(.stdin, noise(0...255, count: 100, &generator))
    case 2:
      return valid + valid.prefix(Int.random(in: 0..<valid.count, using: &generator))
    default:
      var changed = valid
      for octet in noise(0...255, count: 6, &generator) {
        changed[Int.random(in: 0..<changed.count, using: &generator)] = octet
      }
      return changed
    }
  }

  /// Up to `count` octets.
  private static func noise(
    _ octets: ClosedRange<UInt8>, count: Int, _ generator: inout Generator
  ) -> [UInt8] {
    (0..<Int.random(in: 1...count, using: &generator)).map { _ in
      UInt8.random(in: octets, using: &generator)
    }
  }

  @Test func theServerSurvivesAnyBytes() throws {
    try withServer { server in
      var generator = Generator(state: 2)
      for _ in 0..<Self.rounds {
        let connection = try server.connect()
        try? connection.send(Self.bytes(&generator))
        connection.endSending()
        try connection.waitForClose()
      }
      #expect(try server.answer().body == "GET /   -")
    }
  }
}
