/// An open connection to APNs: an engine with its socket.
// @unchecked: one thread uses it at a time; between two runs only the client holds it.
final class APNsConnection: @unchecked Sendable {
  let engine: APNsEngine
  /// Provider token of all requests on this connection.
  let providerToken: String
  private var socket: TLSConnection
  private let clock: LimitClock
  private let openedAt: ContinuousClock.Instant
  private var lastUsedAt: ContinuousClock.Instant
  private var output: [UInt8] = []
  private var written = 0
  private var isWritable = true
  /// Whether OpenSSL may hold bytes that `poll` does not report.
  private var hasMore = false
  /// Maximum number of bytes that OpenSSL writes at once (RFC 8446 §5.1).
  private static let recordSize = 16_384
  private let input: UnsafeMutableRawBufferPointer

  init(
    to endpoint: APNsEndpoint, with trust: TLSContext, providerToken: String,
    limits: APNsEngine.Limits, within limit: Duration, by clock: LimitClock
  ) throws(APNsConnectionError) {
    socket = try TLSConnection.establish(to: endpoint, with: trust, within: limit, by: clock)
    self.clock = clock
    openedAt = clock.now()
    lastUsedAt = openedAt
    self.providerToken = providerToken
    engine = APNsEngine(
      authority: endpoint.authority, providerToken: providerToken, limits: limits,
      now: openedAt)
    input = .allocate(byteCount: 65_536, alignment: 16)
    output.reserveCapacity(98_304)
  }

  deinit {
    engine.close(reason: "nothing is left to be sent")
    write(isMoreComing: false)
    input.deallocate()
  }

  /// Whether Apple has closed the connection, or it is too old to be used.
  func isOver(_ limits: APNsClient.Limits) -> Bool {
    readWithoutWaiting()
    return engine.capacity == 0 || clock.now() >= openedAt + limits.connectionLifetime
  }

  /// Whether the connection, which is not over, still works. Asks Apple by PING after a long idle time, because idle
  /// connections die silently.
  func isUsable(_ limits: APNsClient.Limits) -> Bool {
    if clock.now() >= lastUsedAt + limits.idle {
      engine.ping(at: clock.now())
      write(isMoreComing: false)
      let deadline = clock.now() + limits.pingAnswer
      while engine.isPinging, engine.capacity > 0, clock.now() < deadline {
        Self.read([self], until: deadline, by: clock)
      }
    }
    return engine.capacity > 0 && !engine.isPinging
  }

  /// Writes the engine's output, as far as the socket accepts it.
  ///
  /// - Parameter isMoreComing: if true, keeps bytes that do not fill a TLS record.
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
      // Apple may have sent the reason, so the input is read before the connection is closed.
      isWritable = false
    }
  }

  /// Waits for bytes on any of `connections`, or for the next tick of an engine, and passes available bytes to the engines.
  static func read(
    _ connections: [APNsConnection], until deadline: ContinuousClock.Instant, by clock: LimitClock
  ) {
    let next = connections.map { $0.hasMore ? clock.now() : $0.engine.nextTick }.min()!
    var polled = connections.map {
      $0.socket.polled(forWriting: $0.isWritable && !$0.output.isEmpty)
    }
    wait(for: &polled, until: min(deadline, next), by: clock)
    for (connection, polled) in zip(connections, polled)
    where connection.hasMore || polled.revents != 0 || !connection.isWritable {
      connection.lastUsedAt = clock.now()
      connection.readWithoutWaiting()
    }
  }

  private func readWithoutWaiting() {
    do throws(APNsConnectionError) {
      // The loop has a limit, so that a flood of input does not stop writing and timeouts. It counts bytes, because a
      // read returns one TLS record, which may hold one answer: a request must not expire while its answer waits here.
      var rest = 16 * input.count
      while rest > 0 {
        let count = try socket.read(into: input)
        rest -= count
        hasMore = count > 0
        guard hasMore else {
          if !isWritable { engine.markFailed("closed by the other side") }
          return
        }
        engine.feed(UnsafeRawBufferPointer(rebasing: input[..<count]), at: clock.now())
      }
    } catch {
      engine.markFailed("\(error)")
    }
  }
}
