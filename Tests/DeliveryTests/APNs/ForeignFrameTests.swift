import CNGHTTP2
import Cryptography
import Delivery
import Foundation
import Support
import Testing

/// Header blocks and frames of other people's suites, played to the engine as a server would.
@Suite struct ForeignFrameTests {
  // MARK: Header blocks

  struct Story: Decodable {
    struct Blocks: Decodable {
      let blocks: [Data]
      /// The reader's limit of its table before each block; 0 if it stays.
      let sizes: [Int]?
    }
    /// Names and values of the fields of each block.
    let fields: [[[String]]]
    let encoders: [String: Blocks]
  }

  static let stories = try! foreignCases("hpack.json", as: [String: Story].self)

  @Test func theNumberOfBlocksIsThatOfTheList() throws {
    let blocks = Self.stories.values.flatMap { $0.encoders.values.map(\.blocks.count) }
    #expect(try blocks.reduce(0, +) == foreignCounts()["hpack.json"])
  }

  /// The reader of the engine's library gives the fields that the suite lists.
  @Test(arguments: stories.keys.sorted())
  func blocksGiveTheirFields(_ name: String) throws {
    let story = try #require(Self.stories[name])
    for (encoder, blocks) in story.encoders {
      var reader: OpaquePointer?
      try #require(nghttp2_hd_inflate_new(&reader) == 0)
      defer { nghttp2_hd_inflate_del(reader) }
      for (number, block) in blocks.blocks.enumerated() {
        if let size = blocks.sizes?[number], size > 0 {
          #expect(nghttp2_hd_inflate_change_table_size(reader, size) == 0)
        }
        #expect(
          fields(of: Array(block), by: reader) == story.fields[number], "\(encoder) \(number)")
      }
    }
  }

  /// The corresponding C function is `nghttp2_hd_inflate_hd2`.
  private func fields(of block: [UInt8], by reader: OpaquePointer?) -> [[String]]? {
    var fields: [[String]] = []
    var position = 0
    while true {
      var field = nghttp2_nv()
      var flags: Int32 = 0
      let count = block[position...].withUnsafeBufferPointer {
        nghttp2_hd_inflate_hd2(reader, &field, &flags, $0.baseAddress, $0.count, 1)
      }
      guard count >= 0 else { return nil }
      position += count
      if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
        fields.append([
          String(
            decoding: UnsafeBufferPointer(start: field.name, count: field.namelen), as: UTF8.self),
          String(
            decoding: UnsafeBufferPointer(start: field.value, count: field.valuelen), as: UTF8.self),
        ])
      }
      if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
        nghttp2_hd_inflate_end_headers(reader)
        return fields
      }
    }
  }

  /// The blocks hold requests, so none is an answer: the engine resets each stream, and the connection
  /// with its table lives on.
  @Test(arguments: stories.keys.sorted())
  func requestsAreNoAnswersAndEndNoConnection(_ name: String) throws {
    let protocolError = NGHTTP2_PROTOCOL_ERROR.rawValue
    for (encoder, blocks) in try #require(Self.stories[name]).encoders {
      var line = EngineLine()
      line.feed(Frame.settings(maximumStreams: 1000))
      for (number, block) in blocks.blocks.enumerated() {
        line.submitAll(upTo: number + 1)
        line.feed(Frame.headers(UInt32(2 * number + 1), Array(block)))
        try #require(line.engine.state == .open, "\(encoder) \(number)")
      }
      #expect(line.outcomes == blocks.blocks.map { _ in .unanswered })
      #expect(line.frames.compactMap(\.errorCode) == blocks.blocks.map { _ in protocolError })
      line.submitAll(upTo: blocks.blocks.count + 1)
      line.feed(Frame.answer(UInt32(2 * blocks.blocks.count + 1), status: 200))
      #expect(line.outcomes.last != .unanswered)
    }
  }

  // MARK: Frames

  struct FrameCase: Decodable {
    let name: String
    let wire: [UInt8]
    /// The error codes of the suite; none for a valid frame.
    let errors: [UInt32]

    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      name = try list.decode(String.self)
      wire = try #require(hexDecoded(list.decode(String.self)))
      errors = try list.decode([UInt32].self)
    }
  }

  /// Reasons to refuse frames that are well-formed.
  enum Policy: String {
    /// The engine switches server push off.
    case push
    /// No request has this stream.
    case noSuchStream
    /// The payload is a sentence, not a header block.
    case notHPACK
    /// No HEADERS frame comes before this one.
    case noHeaders
  }

  static let policies: [String: Policy] = [
    "continuation/header": .noHeaders, "continuation/normal": .noHeaders,
    "data/normal": .noSuchStream, "goaway/normal": .noSuchStream, "headers/normal": .notHPACK,
    "headers/priority": .noSuchStream, "push_promise/normal": .push,
    "rst_stream/normal": .noSuchStream, "window_update/normal": .noSuchStream,
  ]

  @Test func framesAreReadOrRefused() throws {
    var tally = ForeignTally()
    for test in try foreignCases("frames.json", as: [FrameCase].self) {
      var line = EngineLine()
      line.submitAll(upTo: 1)
      line.feed(Frame.settings(maximumStreams: 1000))
      line.feed(test.wire)
      let codes = line.frames.compactMap(\.errorCode)
      #expect(test.errors.isEmpty || codes.contains { test.errors.contains($0) }, "\(test.name)")
      tally.add(
        test.name, codes.isEmpty, isValid: test.errors.isEmpty,
        policy: Self.policies[test.name]?.rawValue)
    }
    #expect(try tally.total == foreignCounts()["frames.json"])
    #expect(tally.unexplained == [])
    #expect(
      tally.counts == [
        "accepted": 3, "refused": 22, "noSuchStream": 5, "noHeaders": 2, "notHPACK": 1, "push": 1,
      ])
  }
}
