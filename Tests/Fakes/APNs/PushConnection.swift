import Base
import CNGHTTP2
import COpenSSL
import COpenSSL.TLS
import Glibc

/// Apple's side of one connection. The corresponding C types are `SSL` and `nghttp2_session`.
final class PushConnection {
  /// A request in progress, and then its answer.
  private struct Exchange {
    var request = PushRequest()
    var body: [UInt8] = []
    var sentSize = 0
  }

  private struct LateAnswer {
    let at: ContinuousClock.Instant
    let streamID: Int32
    let number: Int
  }

  private let descriptor: CInt
  private let number: Int
  private let ssl: OpaquePointer
  private var session: OpaquePointer!
  private unowned let server: Server
  private var faults: Faults { server.rules.faults }

  private var exchanges: [Exchange] = []
  private var freeExchanges: [Int] = []
  private var late: [LateAnswer] = []
  private var output: [UInt8] = []
  private var written = 0
  private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
  /// The highest stream that is processed; later streams are ignored.
  private var lastStreamID = Int32.max
  private var isDropped = false
  private var isDeaf = false
  /// Whether half a frame follows all pending output, and then nothing.
  private var isStalling = false
  private var isStalled = false

  init(_ descriptor: CInt, number: Int, tls: ServerTLS, server: Server) {
    self.descriptor = descriptor
    self.number = number
    self.server = server
    ssl = SSL_new(tls.handle)
    SSL_set_fd(ssl, descriptor)
    SSL_set_accept_state(ssl)
    session = makeSession(Unmanaged.passUnretained(self).toOpaque(), faults)
    sendStreamLimit(faults.streams)
  }

  deinit {
    nghttp2_session_del(session)
    SSL_free(ssl)
    close(descriptor)
    input.deallocate()
  }

  var wantsWriting: Bool { written < output.count }
  var nextAnswerAt: ContinuousClock.Instant? { late.first?.at }
  var hasLateAnswer: Bool { nextAnswerAt.map { $0 <= .now } ?? false }

  // MARK: Bytes

  /// - Returns: false when the connection has ended.
  func proceed() -> Bool {
    guard read() else { return false }
    while hasLateAnswer {
      let next = late.removeFirst()
      if next.streamID <= lastStreamID, let index = index(of: next.streamID) {
        answer(next.streamID, index, next.number)
        if !write() { return false }  // a TLS record for each answer
      }
    }
    if isDropped { return false }
    guard write() else { return false }
    return isStalled || wantsWriting || nghttp2_session_want_read(session) != 0
      || nghttp2_session_want_write(session) != 0
  }

  private func read() -> Bool {
    while true {
      ERR_clear_error()
      let count = SSL_read(ssl, input.baseAddress, Int32(input.count))
      if count <= 0 {
        let failure = SSL_get_error(ssl, count)
        return failure == SSL_ERROR_WANT_READ || failure == SSL_ERROR_WANT_WRITE
      }
      let bytes = input.baseAddress!.assumingMemoryBound(to: UInt8.self)
      if !isDeaf, nghttp2_session_mem_recv(session, bytes, Int(count)) < 0 { return false }
      // Read-ahead bytes wake no poll, so all of them are read; many answers share one write.
      if SSL_has_pending(ssl) == 0 { return true }
    }
  }

  private func write() -> Bool {
    while true {
      if output.count - written < 16_384 {
        output.removeFirst(written)
        written = 0
        while !isStalled, output.count < 65_536 {
          var bytes: UnsafePointer<UInt8>?
          let count = nghttp2_session_mem_send(session, &bytes)
          if count < 0 { return false }
          guard count > 0, let bytes else { break }
          output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
        }
        if isStalling, !isStalled, output.count < 65_536 {
          isStalled = true
          output += [0, 0, 100, UInt8(NGHTTP2_HEADERS.rawValue), 4, 0, 0]
        }
      }
      if output.isEmpty { return true }
      ERR_clear_error()
      let count = output[written...].withUnsafeBytes {
        SSL_write(ssl, $0.baseAddress, Int32($0.count))
      }
      if count <= 0 {
        let failure = SSL_get_error(ssl, count)
        return failure == SSL_ERROR_WANT_READ || failure == SSL_ERROR_WANT_WRITE
      }
      written += Int(count)
    }
  }

  // MARK: Requests

  fileprivate func begin(_ streamID: Int32) {
    let index = freeExchanges.popLast() ?? exchanges.endIndex
    if index == exchanges.endIndex { exchanges.append(Exchange()) }
    exchanges[index].request.clear()
    exchanges[index].body = []
    exchanges[index].sentSize = 0
    nghttp2_session_set_stream_user_data(
      session, streamID, UnsafeMutableRawPointer(bitPattern: index + 1))
  }

  fileprivate func set(
    _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on streamID: Int32
  ) {
    if let index = index(of: streamID) { exchanges[index].request.set(name, value) }
  }

  fileprivate func append(_ bytes: UnsafeBufferPointer<UInt8>, on streamID: Int32) {
    if let index = index(of: streamID) { exchanges[index].request.payload += bytes }
  }

  fileprivate func end(_ streamID: Int32) {
    if let index = index(of: streamID) { freeExchanges.append(index) }
  }

  fileprivate func readBody(
    of index: Int, into buffer: UnsafeMutablePointer<UInt8>, _ size: Int,
    _ flags: UnsafeMutablePointer<UInt32>
  ) -> Int {
    let sent = exchanges[index].sentSize
    let count = min(size, exchanges[index].body.count - sent)
    exchanges[index].body.withUnsafeBufferPointer {
      buffer.update(from: $0.baseAddress! + sent, count: count)
    }
    exchanges[index].sentSize = sent + count
    if exchanges[index].sentSize == exchanges[index].body.count {
      flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
    }
    return count
  }

  private func index(of streamID: Int32) -> Int? {
    nghttp2_session_get_stream_user_data(session, streamID).map { Int(bitPattern: $0) - 1 }
  }

  /// Processes a complete request.
  fileprivate func receive(_ streamID: Int32) {
    guard !isDropped, !isStalling, streamID <= lastStreamID, let index = index(of: streamID)
    else { return }
    server.requestCount += 1
    let number = server.requestCount
    let faults = faults
    if number.isTurn(faults.refuseEvery) {
      nghttp2_submit_rst_stream(session, 0, streamID, NGHTTP2_REFUSED_STREAM.rawValue)
      return
    }
    changeStreamLimit(number)
    if let (count, every) = faults.pings, number.isTurn(every) {
      for _ in 0..<count { nghttp2_submit_ping(session, 0, nil) }
    }
    if number.isTurn(faults.dropEvery) {
      isDropped = true
    } else if number > faults.silentAfter ?? .max || number.isTurn(faults.muteEvery) {
    } else if number > faults.halfFrameAfter ?? .max {
      isStalling = true
    } else if let (milliseconds, _) = faults.late.last(where: { number.isTurn($0.every) }) {
      late.append(
        LateAnswer(
          at: .now + .milliseconds(milliseconds), streamID: streamID, number: number))
      return
    } else {
      answer(streamID, index, number)
      return
    }
    server.record?.add(exchanges[index].request, connection: self.number, status: 0, reason: nil)
  }

  private func changeStreamLimit(_ number: Int) {
    if let limit = faults.streamsAfter[number] { sendStreamLimit(limit) }
    guard let every = faults.flapEvery else { return }
    if number.isTurn(every) { sendStreamLimit(1) }
    if number % every == min(3, every - 1) { sendStreamLimit(faults.streams) }
  }

  private func sendStreamLimit(_ limit: UInt32) {
    var setting = nghttp2_settings_entry(
      settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: limit)
    nghttp2_submit_settings(session, 0, &setting, 1)
  }

  private func sayGoodbye(_ streamID: Int32) {
    lastStreamID = streamID
    let text = Array(#"{"reason":"Shutdown"}"#.utf8)
    nghttp2_submit_goaway(session, 0, streamID, NGHTTP2_NO_ERROR.rawValue, text, text.count)
  }

  private func answer(_ streamID: Int32, _ index: Int, _ number: Int) {
    var refusal = server.rules.refusal(of: exchanges[index].request, number: number)
    var padding = 0
    if let (size, every) = faults.body, number.isTurn(every) {
      refusal = Faults.Answer(status: 500, reason: "InternalServerError", timestamp: nil)
      padding = size
    }
    let status = refusal?.status ?? 200
    server.record?.add(
      exchanges[index].request, connection: self.number, status: status, reason: refusal?.reason)
    if let refusal {
      let timestamp = refusal.timestamp.map { #","timestamp":\#($0)"# } ?? ""
      exchanges[index].body =
        Array(#"{"reason":"\#(refusal.reason)"\#(timestamp)}"#.utf8)
        + Array(repeating: UInt8(ascii: " "), count: padding)
    }
    let extra = faults.headers.map { number.isTurn($0.every) ? $0.size : 0 } ?? 0
    respond(on: streamID, index, "\(status)", extra: extra)
    if number.isTurn(faults.goawayEvery) || self.number > faults.lasting { sayGoodbye(streamID) }
    if number == faults.deafAfter { isDeaf = true }
  }

  /// The corresponding C function is `nghttp2_submit_response`.
  private func respond(on streamID: Int32, _ index: Int, _ status: String, extra: Int) {
    var status = status
    let id = exchanges[index].request.id
    let padding = [UInt8](repeating: UInt8(ascii: "x"), count: extra)
    var body = nghttp2_data_provider(
      source: nghttp2_data_source(fd: CInt(index)),
      read_callback: { _, _, buffer, size, flags, source, context in
        PushConnection.of(context).readBody(
          of: Int(source!.pointee.fd), into: buffer!, size, flags!)
      })
    let isEmpty = exchanges[index].body.isEmpty
    status.withUTF8 { status in
      id.withUnsafeBufferPointer { id in
        padding.withUnsafeBufferPointer { padding in
          var fields = [field(":status", status), field("apns-id", id)]
          if extra > 0 { fields.append(field("x-padding", padding)) }
          if isEmpty {
            nghttp2_submit_response(session, streamID, fields, fields.count, nil)
          } else {
            nghttp2_submit_response(session, streamID, fields, fields.count, &body)
          }
        }
      }
    }
  }

  private func field(
    _ name: StaticString, _ value: UnsafeBufferPointer<UInt8>
  ) -> nghttp2_nv {
    let isStatus = name.utf8CodeUnitCount == 7 && name.utf8Start[0] == UInt8(ascii: ":")
    let flags =
      NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | (isStatus ? 0 : NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
    return nghttp2_nv(
      name: UnsafeMutablePointer(mutating: name.utf8Start),
      value: UnsafeMutablePointer(mutating: value.baseAddress), namelen: name.utf8CodeUnitCount,
      valuelen: value.count, flags: UInt8(flags))
  }

  fileprivate static func of(_ context: UnsafeMutableRawPointer?) -> PushConnection {
    Unmanaged<PushConnection>.fromOpaque(context!).takeUnretainedValue()
  }
}

/// The corresponding C function is `nghttp2_session_server_new2`.
private func makeSession(_ context: UnsafeMutableRawPointer, _ faults: Faults) -> OpaquePointer {
  var callbacks: OpaquePointer?
  nghttp2_session_callbacks_new(&callbacks)
  defer { nghttp2_session_callbacks_del(callbacks) }
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
    PushConnection.of(context).begin(frame!.pointee.hd.stream_id)
    return 0
  }
  nghttp2_session_callbacks_set_on_header_callback(callbacks) {
    _, frame, name, nameSize, value, valueSize, _, context in
    PushConnection.of(context).set(
      UnsafeBufferPointer(start: name, count: nameSize),
      UnsafeBufferPointer(start: value, count: valueSize), on: frame!.pointee.hd.stream_id)
    return 0
  }
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
    _, _, streamID, bytes, size, context in
    PushConnection.of(context).append(
      UnsafeBufferPointer(start: bytes, count: size), on: streamID)
    return 0
  }
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
    let head = frame!.pointee.hd
    let hasRequest =
      head.type == UInt8(NGHTTP2_DATA.rawValue) || head.type == UInt8(NGHTTP2_HEADERS.rawValue)
    if hasRequest, head.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
      PushConnection.of(context).receive(head.stream_id)
    }
    return 0
  }
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, streamID, _, context in
    PushConnection.of(context).end(streamID)
    return 0
  }
  var option: OpaquePointer?
  nghttp2_option_new(&option)
  defer { nghttp2_option_del(option) }
  nghttp2_option_set_no_closed_streams(option, 1)
  if let (size, _) = faults.headers {
    nghttp2_option_set_max_send_header_block_length(option, size + 65_536)
  }
  var session: OpaquePointer?
  precondition(
    nghttp2_session_server_new2(&session, callbacks, context, option) == 0, "no memory")
  return session!
}
