/// An open connection to APNs: an engine with its socket.
// @unchecked: one thread has it at a time; between two runs nobody but the client that keeps it.
final class APNsConnection: @unchecked Sendable {
  let engine: APNsEngine
  /// Of all its requests.
  let providerToken: String
  private var socket: TLSConnection
  private var lastUsedAt = ContinuousClock.now
  private var output: [UInt8] = []
  private var written = 0
  private var isWritable = true
  /// Bytes may be left that wake nobody.
  private var hasMore = false
  /// The most that OpenSSL writes at once (RFC 8446 §5.1).
  private static let recordSize = 16_384
  private let input: UnsafeMutableRawBufferPointer

  init(
    to endpoint: APNsEndpoint, with trust: TLSContext, providerToken: String,
    limits: APNsEngine.Limits, within limit: Duration
  ) throws(APNsConnectionError) {
    socket = try TLSConnection.establish(to: endpoint, with: trust, within: limit)
    self.providerToken = providerToken
    engine = APNsEngine(
      authority: endpoint.authority, providerToken: providerToken, limits: limits, now: .now)
    input = .allocate(byteCount: 65_536, alignment: 16)
    output.reserveCapacity(98_304)
  }

  deinit {
    engine.close(reason: "nothing is left to be sent")
    write(isMoreComing: false)
    input.deallocate()
  }

  /// Whether Apple has not ended it meanwhile. Connections that are idle for long die silently.
  var isUsable: Bool {
    guard ContinuousClock.now < lastUsedAt + .seconds(60) else { return false }
    readWithoutWaiting()
    return engine.capacity > 0
  }

  /// Writes what the engine has to say, as far as the socket takes it.
  ///
  /// - Parameter isMoreComing: what fills no record is kept.
  func write(isMoreComing: Bool) {
    guard isWritable else { return }
    do throws(APNsConnectionError) {
      while true {
        if output.count - written < Self.recordSize {
          output.removeFirst(written)
          written = 0
          engine.drain(into: &output)
        }
        if isMoreComing ? output.count - written < Self.recordSize : output.isEmpty { return }
        let count = try socket.write(output.span.extracting(written...))
        if count == 0 { return }
        written += count
      }
    } catch {
      // Apple may have said why: what has arrived is read before the connection is given up.
      isWritable = false
    }
  }

  /// Waits for what comes next, be it bytes or time, and gives the engine the bytes that are there.
  func read(until deadline: ContinuousClock.Instant) {
    if !hasMore {
      socket.wait(
        forWriting: isWritable && !output.isEmpty, until: min(deadline, engine.nextTick))
    }
    readWithoutWaiting()
  }

  private func readWithoutWaiting() {
    lastUsedAt = .now
    do throws(APNsConnectionError) {
      // Not without end: a flood must not keep us from answering, nor from looking at the clock.
      for _ in 0..<16 {
        let count = try socket.read(into: input)
        hasMore = count > 0
        guard hasMore else {
          if !isWritable { engine.markFailed("closed by the other side") }
          return
        }
        engine.feed(UnsafeRawBufferPointer(rebasing: input[..<count]), at: .now)
      }
    } catch {
      engine.markFailed("\(error)")
    }
  }
}
