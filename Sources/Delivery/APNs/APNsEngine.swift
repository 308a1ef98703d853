import CNGHTTP2
import Glibc

/// Client side of one HTTP/2 connection to APNs, without the socket and the clock: the caller
/// passes bytes and the time.
///
/// Used by one thread. The corresponding C type is `nghttp2_session`.
///
/// Uses nghttp2, because libcurl is too slow: with 500 streams, the multi interface of libcurl 7.88
/// reached 0.18 of this client's requests per second, and 0.08 of its requests per CPU second. It
/// also resets nearly every stream after its answer, so a server with nghttp2's limit on resets
/// closed about 80 connections per 100,000 requests.
package final class APNsEngine {
  package struct Limits: Sendable {
    /// Maximum number of requests in flight, even if Apple allows more.
    package var window = 500
    /// Time from submission to the complete answer.
    package var requestLifetime: Duration = .seconds(15)
    /// Time without a byte from Apple until we send a PING.
    package var silence: Duration = .seconds(5)
    /// Time from PING to the next byte from Apple.
    package var pingLifetime: Duration = .seconds(5)

    package init() {}
  }

  package enum LinkState: Equatable, Sendable {
    case open
    /// Accepts no more requests; those in flight may still be answered. `reason` comes from Apple.
    case closing(reason: String)
    /// The connection is unusable.
    case failed(reason: String)
  }

  package struct SendResult: Sendable {
    package let notification: APNsNotification
    package let outcome: APNsOutcome
  }

  package private(set) var state = LinkState.open
  /// The shortest time from a request to its complete answer so far.
  package private(set) var quickestAnswer: Duration?
  /// Requests without an outcome, or whose stream is not closed yet.
  package var inFlight: Int { slots.busyCount }

  private let session: OpaquePointer
  private let head: RequestHead
  private let limits: Limits
  private let slots: RequestSlots
  private var results: [SendResult] = []
  /// False until the first answer: Apple allows one stream until it has checked our provider token.
  private var isTrusted = false
  private var lastByteAt: ContinuousClock.Instant
  private var pingedAt: ContinuousClock.Instant?
  /// No request expires before this time; nil if no request is in flight.
  private var nextDeadline: ContinuousClock.Instant?

  /// - Parameter authority: host, with the port if it is not 443.
  package init(
    authority: String, providerToken: String, limits: Limits = Limits(),
    now: ContinuousClock.Instant
  ) {
    self.limits = limits
    lastByteAt = now
    head = RequestHead(authority: authority, providerToken: providerToken)
    slots = RequestSlots(count: limits.window)
    session = makeSession()
    nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
    introduce()
  }

  deinit { nghttp2_session_del(session) }

  /// The corresponding C functions are `nghttp2_submit_settings` and
  /// `nghttp2_session_set_local_window_size`.
  private func introduce() {
    var settings = [
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: 16_384),
    ]
    nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &settings, settings.count)
    // A large window, so that error bodies of many streams do not block each other.
    nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, 1 << 20)
  }

  // MARK: Notifications

  /// Number of notifications that may be submitted now.
  ///
  /// Apple changes its limit at any time, and closes the connection if we open too many streams.
  /// The corresponding C function is `nghttp2_session_get_remote_settings`.
  ///
  /// 0 while flow control holds back the rest of a payload: nghttp2 prefers streams that have sent
  /// nothing, so new streams would delay that rest forever.
  package var capacity: Int {
    guard case .open = state, slots.cutCount == 0 else { return 0 }
    let remote = nghttp2_session_get_remote_settings(
      session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    let allowed = min(Int(remote), isTrusted ? limits.window : 1)
    return max(0, allowed - slots.busyCount)
  }

  /// Sends `notification`; ``capacity`` must be above zero. ``takeResults()`` returns its result
  /// later.
  ///
  /// The corresponding C function is `nghttp2_submit_request`.
  package func submit(
    _ notification: consuming APNsNotification, at now: ContinuousClock.Instant
  ) {
    precondition(capacity > 0, "no free stream")
    let deadline = now + limits.requestLifetime
    let slot = slots.takeSlot()
    nextDeadline = nextDeadline ?? deadline
    let fieldCount = head.fill(notification, slots.text(slot))
    slots[slot] = RequestSlots.Slot(notification: notification, deadline: deadline)
    var body = nghttp2_data_provider(
      source: nghttp2_data_source(fd: CInt(slot)),
      read_callback: { _, _, buffer, size, flags, source, context in
        APNsEngine.of(context).readBody(
          of: Int(source!.pointee.fd), into: buffer!, size, flags!)
      })
    let streamID = nghttp2_submit_request(
      session, nil, head.fields, fieldCount, &body, UnsafeMutableRawPointer(bitPattern: slot + 1))
    if streamID < 0 {
      // No stream id or no memory is left: nothing was sent.
      finish(slot, .notProcessed)
      slots.freeSlot(slot)
      close(reason: Self.text(of: streamID))
    } else {
      slots[slot].streamID = streamID
    }
  }

  /// The results since the last call.
  package func takeResults() -> [SendResult] {
    defer { results.removeAll(keepingCapacity: true) }
    return results
  }

  // MARK: Bytes and time

  /// Processes bytes from Apple.
  ///
  /// The corresponding C function is `nghttp2_session_mem_recv`.
  package func feed(_ bytes: UnsafeRawBufferPointer, at now: ContinuousClock.Instant) {
    lastByteAt = now
    pingedAt = nil
    let count = nghttp2_session_mem_recv(
      session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    if count < 0 { markFailed(Self.text(of: CInt(count))) }
  }

  /// Appends output to `buffer` until the buffer holds 64 KiB or all output.
  ///
  /// The corresponding C function is `nghttp2_session_mem_send`.
  package func drain(into buffer: inout [UInt8]) {
    while buffer.count < 65_536 {
      var bytes: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &bytes)
      if count < 0 { markFailed(Self.text(of: CInt(count))) }
      guard count > 0, let bytes else { break }
      buffer.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
    }
    let isOver =
      nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    if isOver, state == .open || inFlight > 0 {
      markFailed("the connection broke the rules of HTTP/2")
    }
  }

  /// Expires overdue requests, and sends a PING after a silence.
  package func tick(_ now: ContinuousClock.Instant) {
    if let deadline = nextDeadline, deadline <= now { expire(now) }
    if let pingedAt {
      if now >= pingedAt + limits.pingLifetime { markFailed("Apple does not answer a PING") }
    } else if now >= lastByteAt + limits.silence {
      ping(at: now)
    }
  }

  /// Sends a PING; any byte from Apple is an answer.
  ///
  /// The corresponding C function is `nghttp2_submit_ping`.
  func ping(at now: ContinuousClock.Instant) {
    pingedAt = now
    nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
  }

  /// Whether a PING has no answer yet.
  var isPinging: Bool { pingedAt != nil }

  /// Time of the next call of ``tick(_:)``.
  package var nextTick: ContinuousClock.Instant {
    let ping = pingedAt.map { $0 + limits.pingLifetime } ?? lastByteAt + limits.silence
    return nextDeadline.map { min($0, ping) } ?? ping
  }

  /// The corresponding C function is `nghttp2_submit_rst_stream`.
  private func expire(_ now: ContinuousClock.Instant) {
    nextDeadline = nil
    for slot in slots.pending {
      let deadline = slots[slot].deadline
      if deadline > now {
        nextDeadline = nextDeadline.map { min($0, deadline) } ?? deadline
        continue
      }
      finish(slot, .unanswered)
      // The stream keeps its memory until nghttp2 has closed it.
      nghttp2_submit_rst_stream(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), slots[slot].streamID, NGHTTP2_CANCEL.rawValue)
    }
  }

  /// Accepts no more notifications, and sends GOAWAY once those in flight have an outcome.
  ///
  /// The corresponding C function is `nghttp2_session_terminate_session`.
  package func close(reason: String) {
    if state == .open { state = .closing(reason: reason) }
    if inFlight == 0 { nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR.rawValue) }
  }

  /// Marks the connection as lost, and all notifications in flight as unanswered.
  package func markFailed(_ reason: String) {
    if case .failed = state { return }
    state = .failed(reason: reason)
    for slot in slots.pending { finish(slot, .unanswered) }
  }

  // MARK: Events of nghttp2

  private func finish(_ slot: Int, _ outcome: APNsOutcome) {
    guard let notification = slots[slot].notification.take() else { return }
    results.append(SendResult(notification: notification, outcome: outcome))
  }

  private func readBody(
    of slot: Int, into buffer: UnsafeMutablePointer<UInt8>, _ size: Int,
    _ flags: UnsafeMutablePointer<UInt32>
  ) -> Int {
    slots.copyPayload(of: slot, to: UnsafeMutableBufferPointer(start: buffer, count: size)) {
      flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
    }
  }

  fileprivate func receive(
    _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on streamID: Int32
  ) {
    guard let slot = slot(of: streamID) else { return }
    if name.first == UInt8(ascii: ":") {
      // `:status` is the only such field of an answer (RFC 9113 §8.3.2).
      slots[slot].status = value.reduce(0) { $0 * 10 + Int($1) - 0x30 }
    } else if name.count == 7, memcmp(name.baseAddress!, "apns-id", 7) == 0, value.count <= 64 {
      // Nearly always our own id, which needs no copy.
      if slots.isID(of: slot, value) { return }
      slots[slot].apnsID = String(decoding: value, as: UTF8.self)
    }
  }

  fileprivate func receive(_ bytes: UnsafeBufferPointer<UInt8>, on streamID: Int32) {
    if let slot = slot(of: streamID) { slots.appendAnswer(bytes, to: slot) }
  }

  /// Handles GOAWAY. nghttp2 closes the streams that Apple has not accepted, as refused.
  fileprivate func receive(_ goaway: nghttp2_goaway) {
    let data = UnsafeBufferPointer(start: goaway.opaque_data, count: goaway.opaque_data_len)
    let text = String(decoding: data.prefix(200), as: UTF8.self)
    close(reason: text.isEmpty ? "GOAWAY with error \(goaway.error_code)" : text)
  }

  fileprivate func closed(_ streamID: Int32, _ code: UInt32) {
    guard let slot = slot(of: streamID) else { return }
    switch code {
    case NGHTTP2_NO_ERROR.rawValue where slots[slot].status != 0:
      let outcome = slots.answeredOutcome(of: slot)
      if slots[slot].status != 403 { isTrusted = true }
      let duration = lastByteAt - (slots[slot].deadline - limits.requestLifetime)
      quickestAnswer = min(quickestAnswer ?? duration, duration)
      finish(slot, outcome)
    case NGHTTP2_REFUSED_STREAM.rawValue: finish(slot, .notProcessed)
    default: finish(slot, .unanswered)
    }
    slots.freeSlot(slot)
    if slots.busyCount == 0 { nextDeadline = nil }
  }

  private func slot(of streamID: Int32) -> Int? {
    nghttp2_session_get_stream_user_data(session, streamID).map { Int(bitPattern: $0) - 1 }
  }

  fileprivate static func of(_ context: UnsafeMutableRawPointer?) -> APNsEngine {
    Unmanaged<APNsEngine>.fromOpaque(context!).takeUnretainedValue()
  }

  private static func text(of code: CInt) -> String { String(cString: nghttp2_strerror(code)) }
}

/// Makes a client session whose callbacks call the engine in its user data.
///
/// The corresponding C function is `nghttp2_session_client_new2`.
private func makeSession() -> OpaquePointer {
  var callbacks: OpaquePointer?
  precondition(nghttp2_session_callbacks_new(&callbacks) == 0, "no memory")
  defer { nghttp2_session_callbacks_del(callbacks) }
  nghttp2_session_callbacks_set_on_header_callback(callbacks) {
    _, frame, name, nameSize, value, valueSize, _, context in
    APNsEngine.of(context).receive(
      UnsafeBufferPointer(start: name, count: nameSize),
      UnsafeBufferPointer(start: value, count: valueSize), on: frame!.pointee.hd.stream_id)
    return 0
  }
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
    _, _, streamID, bytes, size, context in
    APNsEngine.of(context).receive(UnsafeBufferPointer(start: bytes, count: size), on: streamID)
    return 0
  }
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
    if frame!.pointee.hd.type == UInt8(NGHTTP2_GOAWAY.rawValue) {
      APNsEngine.of(context).receive(frame!.pointee.goaway)
    }
    return 0
  }
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
    _, streamID, code, context in
    APNsEngine.of(context).closed(streamID, code)
    return 0
  }

  var option: OpaquePointer?
  precondition(nghttp2_option_new(&option) == 0, "no memory")
  defer { nghttp2_option_del(option) }
  nghttp2_option_set_peer_max_concurrent_streams(option, 1)
  // nghttp2 would keep closed streams for priorities, which Apple does not use.
  nghttp2_option_set_no_closed_streams(option, 1)
  var session: OpaquePointer?
  precondition(nghttp2_session_client_new2(&session, callbacks, nil, option) == 0, "no memory")
  return session!
}
