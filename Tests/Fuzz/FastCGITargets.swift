import Base
import Glibc
import HTTP

@testable import FastCGI

extension FuzzTarget {
  static let ofFastCGI = [
    FuzzTarget("fastcgi-records", atMost: 4096, testRecords),
    FuzzTarget("fastcgi-parameters", atMost: 1024, testParameters),
  ]

  private static let bodyLimit = 64

  /// The first byte is the size of the pieces in which the others arrive.
  private static func testRecords(_ input: [UInt8]) {
    guard let size = input.first else { return }
    let bytes = Array(input.dropFirst())
    let whole = partialRequest(of: [bytes])
    let parts = partialRequest(of: bytes.pieces(of: max(1, Int(size))))
    require(whole.state == parts.state, "the pieces decide: \(whole.state), \(parts.state)")
    require(whole.bytes == parts.bytes, "the pieces decide which records are kept")
    if whole.state == .complete { receive(whole.bytes) }
  }

  private static func partialRequest(of pieces: [[UInt8]]) -> PartialRequest {
    var partial = PartialRequest(bodyLimit: bodyLimit)
    for piece in pieces { piece.withUnsafeBytes { partial.append($0) } }
    return partial
  }

  /// Lets libfcgi read the records, and answers the request.
  private static func receive(_ records: [UInt8]) {
    let exchange = Exchange(paths: RequestPaths())
    let connection = open("/dev/null", O_RDWR)
    guard let request = exchange.receive(records, from: connection, bodyLimit: bodyLimit) else {
      return
    }
    require(!request.method.isEmpty, "a request without a method")
    require(request.body.count <= bodyLimit, "the body is over the limit")
    require(
      [nil, .ambiguousPath].contains(request.defect) || request.body.isEmpty, "a body with a defect"
    )
    _ = exchange.send(Response(status: 200, body: request.body), to: request.method, keep: false)
  }

  /// Each line is a parameter `NAME=value`, as libfcgi and the environment hold them.
  private static func testParameters(_ input: [UInt8]) {
    let entries = input.split(separator: UInt8(ascii: "\n")).map { Array($0.prefix { $0 != 0 }) }
    let parameters = Parameters(entries: entries)
    for entry in entries {
      let name = entry.prefix { $0 != UInt8(ascii: "=") }
      guard name.allSatisfy(\.isOfVariable) else { continue }
      let first = entries.first { $0.starts(with: name + "=".utf8) }
      require(
        parameters.text(Array(name).text) == first.map { Array($0.dropFirst(name.count + 1)).text },
        "another value of \(name)")
    }
    _ = Request(parameters, body: [], bodyDefect: nil)
    _ = Request(authorizing: parameters)
  }
}

extension UInt8 {
  /// Whether a lookup leaves this character of a name as it is.
  fileprivate var isOfVariable: Bool { isUppercaseLetter || isDigit || self == UInt8(ascii: "_") }
}

extension Parameters {
  /// The parameters as libfcgi gives them: `NAME=value` without a zero byte.
  init(entries: [[UInt8]]) {
    var texts: [UnsafeMutablePointer<CChar>?] = entries.map { entry in
      let text = UnsafeMutablePointer<CChar>.allocate(capacity: entry.count + 1)
      for index in entry.indices { text[index] = CChar(bitPattern: entry[index]) }
      text[entry.count] = 0
      return text
    }
    texts.append(nil)
    defer { for text in texts { text?.deallocate() } }
    self = texts.withUnsafeMutableBufferPointer { Parameters(copying: $0.baseAddress!) }
  }
}
