import Store

@testable import Delivery

extension FuzzTarget {
  static let ofHTTP2 = [FuzzTarget("http2", atMost: 4096, testHTTP2)]

  private static let warmUp: [UInt8] =
    [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100]  // SETTINGS: 100 streams
    + [0, 0, 5, 1, 5, 0, 0, 0, 1, 0x08, 3, 0x32, 0x30, 0x30]  // HEADERS: stream 1 has status 200

  /// The first byte is the number of requests in flight, the second the size of the pieces in which
  /// the bytes of the server arrive. Each notification has exactly one outcome.
  private static func testHTTP2(_ input: [UInt8]) {
    guard input.count >= 2 else { return }
    let line = Line()
    line.submit(atMost: 1)
    line.feed(warmUp)
    line.submit(atMost: Int(input[0] % 12))
    for piece in Array(input.dropFirst(2)).pieces(of: max(1, Int(input[1]))) { line.feed(piece) }
    line.advance(by: .seconds(6))
    line.submit(atMost: 2)
    line.advance(by: .seconds(16))
    line.engine.markFailed("the end")
    line.settle()
    require(line.answered.sorted() == line.submitted, "lost or doubled: \(line.answered)")
  }
}

/// An engine whose clock stands still.
private final class Line {
  private var now = ContinuousClock.now
  private(set) lazy var engine = {
    var limits = APNsEngine.Limits()
    limits.window = 20
    return APNsEngine(authority: "localhost", providerToken: "token", limits: limits, now: now)
  }()
  private(set) var submitted: [String] = []
  private(set) var answered: [String] = []

  func submit(atMost count: Int) {
    for _ in 0..<count where engine.capacity > 0 {
      let id = "00000000-0000-4000-8000-0000000000\(submitted.count + 10)"
      let notification = APNsNotification(
        id: id, token: PushToken(String(repeating: "a", count: 64))!, topic: "org.example.app",
        payload: Array(#"{"aps":{"alert":"1"}}"#.utf8))!
      engine.submit(notification, at: now)
      submitted.append(id)
    }
    settle()
  }

  func feed(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { engine.feed($0, at: now) }
    settle()
  }

  func advance(by time: Duration) {
    now += time
    engine.tick(now)
    settle()
  }

  func settle() {
    var output: [UInt8] = []
    repeat {
      output = []
      engine.drain(into: &output)
    } while !output.isEmpty
    answered += engine.takeResults().map(\.notification.id)
  }
}
