import Base
import HTTP
import Store

/// The text that the apps sign with each request: `METHOD:absolute-URL[:key:value,…]:unix-seconds`.
///
/// Does not check the part about the body: each platform formats its values differently.
struct RequestChallenge {
  /// The allowed difference between the phone's clock and ours.
  static let tolerance = Duration.seconds(300)

  private let front: ArraySlice<UInt8>
  private let seconds: Double

  /// - Returns: nil if `clientData` have another form. The caller then checks only the signature.
  init?(_ clientData: [UInt8]) {
    guard let colon = clientData.lastIndex(of: UInt8(ascii: ":")) else { return nil }
    front = clientData[..<colon]
    let digits = clientData[(colon + 1)...]
    let isDecimal = digits.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") }
    guard isDecimal, let seconds = Double(String(decoding: digits, as: UTF8.self))
    else { return nil }
    self.seconds = seconds
    let rest = front.drop(while: \.isUppercaseLetter)
    guard rest.count < front.count, rest.starts(with: ":http".utf8) else { return nil }
  }

  /// - Parameter publicURLs: The addresses of this site; the app may have signed any of them.
  /// - Throws: ``AttestationRefusal/otherRequest``, ``AttestationRefusal/otherTime``.
  func check(
    _ request: Request, at publicURLs: [String], _ now: Timestamp
  ) throws(AttestationRefusal) {
    guard publicURLs.contains(where: { names(request, at: $0) }) else { throw .otherRequest }
    let distance = abs(seconds * 1000 - Double(now.milliseconds))
    guard distance <= Double(Self.tolerance.milliseconds) else { throw .otherTime }
  }

  private func names(_ request: Request, at publicURL: String) -> Bool {
    let query = request.query.isEmpty ? "" : "?" + request.query
    let expected = "\(request.method):\(publicURL)\(request.path)\(query)".utf8
    guard front.starts(with: expected) else { return false }
    let rest = front.dropFirst(expected.count)
    return rest.isEmpty || rest.first == UInt8(ascii: ":")
  }
}
