import Cryptography
import Foundation
import Support
import Testing

/// Inputs from a seeded generator. `SWITCHBOARD_FUZZ` sets the number per test; the default is
/// 20,000.
@Suite struct FuzzTests {
  static let count =
    ProcessInfo.processInfo.environment["SWITCHBOARD_FUZZ"].flatMap(Int.init) ?? 20_000

  @Test func mutatedTokensAreRefused() throws {
    var generator = SeededGenerator(state: 1)
    let keyring = try Keyring(parsing: "\(newerEntry),\(olderEntry)")
    let genuine = (0..<16).map { number in
      JSONWebToken.sign(Array(#"{"sub":"\#(number)"}"#.utf8), with: keyring.keys[number % 2])
    }
    var refused = 0
    var forged: [String] = []
    var slowest = SlowestCall(of: "JWT")
    for _ in 0..<Self.count {
      let token = String(decoding: generator.mutate(genuine), as: UTF8.self)
      if slowest.time({ try? JSONWebToken.verify(token, with: keyring) }) == nil {
        refused += 1
      } else if !genuine.contains(token) {
        forged.append(token)
      }
    }
    #expect(forged.isEmpty)
    #expect(refused > Self.count / 2)
  }

  @Test func mutatedSealedValuesAreRefused() throws {
    var generator = SeededGenerator(state: 2)
    let keyring = try Keyring(parsing: "\(newerEntry),\(olderEntry)")
    let older = try Keyring(parsing: olderEntry)
    let genuine = (0..<16).map { number in
      seal([UInt8(number)], authenticating: "", with: number % 2 == 0 ? keyring : older)
    }
    var refused = 0
    var forged: [String] = []
    for _ in 0..<Self.count {
      let sealed = String(decoding: generator.mutate(genuine), as: UTF8.self)
      if (try? open(sealed, authenticating: "", with: keyring)) == nil {
        refused += 1
      } else if !genuine.contains(sealed) {
        forged.append(sealed)
      }
    }
    #expect(forged.isEmpty)
    #expect(refused > Self.count / 2)
  }

  @Test func mutatedBoxedValuesAreRefused() throws {
    var generator = SeededGenerator(state: 12)
    let keys = try BoxKeys(parsing: olderEntry)
    let genuine = (0..<16).map { seal([UInt8($0)], authenticating: "", for: keys.publicKeys) }
    var refused = 0
    var forged: [String] = []
    for _ in 0..<Self.count {
      let sealed = String(decoding: generator.mutate(genuine), as: UTF8.self)
      if (try? open(sealed, authenticating: "", with: keys)) == nil {
        refused += 1
      } else if !genuine.contains(sealed) {
        forged.append(sealed)
      }
    }
    #expect(forged.isEmpty)
    #expect(refused > Self.count / 2)
  }

  @Test func decodedTextEncodesToItself() {
    var generator = SeededGenerator(state: 3)
    var decoded = 0
    var ambiguous: [[UInt8]] = []
    for _ in 0..<Self.count {
      let text = generator.text(of: Array("0123456789abcdefAZz+/-_=. \n".utf8) + [0, 0x80, 0xFF])
      for (decode, encode) in [
        (base64URLDecoded as (Span<UInt8>) -> [UInt8]?, base64URLEncoded as ([UInt8]) -> String),
        (base64Decoded, base64Encoded), (hexDecoded, hexEncoded),
      ] {
        guard let bytes = decode(text.span) else { continue }
        decoded += 1
        if Array(encode(bytes).utf8) != text { ambiguous.append(text) }
      }
    }
    #expect(ambiguous.isEmpty)
    #expect(decoded > Self.count / 20)
  }

  @Test func theKeyringsParserSurvivesAnyText() {
    var generator = SeededGenerator(state: 4)
    let entries = [newerEntry, olderEntry, "\(newerEntry),\(olderEntry)"]
    for _ in 0..<Self.count {
      let text = String(decoding: generator.mutate(entries), as: UTF8.self)
      guard let keyring = try? Keyring(parsing: text) else { continue }
      #expect(Set(keyring.keys.map(\.id)).count == keyring.keys.count)
      #expect(!keyring.keys.isEmpty)
    }
  }
}
