/// The part of one request that has arrived on a connection.
///
/// A slow client keeps no worker busy, even if its web server passes on each piece at once.
struct PartialRequest {
  /// The records so far, without the records of a body after it exceeds its limit.
  private(set) var bytes: [UInt8] = []
  let begin = ContinuousClock.now
  private var scan: RecordScan

  var state: RecordScan.State { scan.state }

  /// - Parameter bodyLimit: The largest body to keep, in octets.
  init(bodyLimit: Int) {
    scan = RecordScan(bodyLimit: bodyLimit)
  }

  /// Adds the next bytes of the connection. Ignores bytes after the end of the request.
  mutating func append(_ more: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: more)
    while let excess = bytes.withUnsafeBytes({ scan.advance(over: $0) }) {
      bytes.removeSubrange(excess)
    }
  }

  /// Forgets the request and accepts no more of it.
  mutating func refuse() {
    scan.refuse()
    bytes = []
  }
}
