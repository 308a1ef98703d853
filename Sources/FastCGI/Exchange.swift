import CFastCGI
import CGlibc
import Glibc
import HTTP

/// An owned `FCGX_Request`: libfcgi parses and answers one request at a time.
///
/// ``Worker`` accepts connections and lends each to libfcgi when a whole request has arrived. For this, only
/// this file sets two fields that libfcgi's header asks not to use: `ipcFd`, the connection, and
/// `keepConnection`. We read the sources of 2.4.2 and 2.4.7 for this, and tested 2.4.2.
///
/// libfcgi trusts the lengths of parameters, so ``PartialRequest`` checks them first. Only the web server may reach the
/// socket all the same, because it names the client's address.
final class Exchange {
  /// Has a fixed address: the streams of a request point back to it.
  private let handle: UnsafeMutablePointer<FCGX_Request>

  private let paths: RequestPaths

  init(paths: RequestPaths) {
    self.paths = paths
    Self.prepareLibrary
    handle = .allocate(capacity: 1)
    // -1: no listening socket, so libfcgi never waits for a connection.
    FCGX_InitRequest(handle, -1, 0)
  }

  deinit {
    FCGX_Free(handle, 1)
    handle.deallocate()
  }

  /// Calls `FCGX_Init` once and undoes the signal handlers that it installs.
  private static let prepareLibrary: Void = {
    let signals = [SIGPIPE, SIGUSR1, SIGTERM]
    var actions = signals.map { signal in
      var action = sigaction()
      sigaction(signal, nil, &action)
      return action
    }
    FCGX_Init()
    for index in signals.indices { sigaction(signals[index], &actions[index], nil) }
  }()

  /// Reads a request that has completely arrived on `connection`. libfcgi then owns the connection.
  ///
  /// The corresponding C function is `FCGX_Accept_r`.
  ///
  /// - Returns: nil if the bytes are not a request; the connection is then closed.
  func receive(from connection: CInt, bodyLimit: Int) -> Request? {
    handle.pointee.ipcFd = connection
    // FCGX_Accept_r first finishes the previous request: this must not close the connection.
    handle.pointee.keepConnection = 1
    // Makes libfcgi close the connection at once, without waiting for the peer to close first.
    FCGX_Detach(handle)
    guard FCGX_Accept_r(handle) == 0 else { return nil }
    let request = readRequest(bodyLimit: bodyLimit)
    if request == nil { FCGX_Free(handle, 1) }
    return request
  }

  /// Reads a request that arrived on `connection` in pieces. libfcgi reads only from descriptors, so it gets
  /// `bytes` as a file in memory.
  ///
  /// - Returns: nil if the bytes are not a request; the connection is then closed.
  func receive(_ bytes: [UInt8], from connection: CInt, bodyLimit: Int) -> Request? {
    let file = memfd_create("request", 1)  // MFD_CLOEXEC
    let isWritten =
      file >= 0 && write(file, bytes, bytes.count) == bytes.count && lseek(file, 0, SEEK_SET) == 0
    guard isWritten, let request = receive(from: file, bodyLimit: bodyLimit) else {
      if file >= 0, !isWritten { close(file) }
      close(connection)
      return nil
    }
    close(file)
    handle.pointee.ipcFd = connection
    return request
  }

  private func readRequest(bodyLimit: Int) -> Request? {
    let (responder, authorizer): (CInt, CInt) = (1, 2)  // FCGI_RESPONDER, FCGI_AUTHORIZER
    let role = handle.pointee.role
    // If the connection ends between two parameters, libfcgi reports the end of the parameters.
    guard role == responder || role == authorizer, FCGX_GetError(handle.pointee.in) == 0,
      let environment = handle.pointee.envp
    else { return nil }
    let parameters = Parameters(copying: environment)
    guard role == responder else { return Request(authorizing: parameters, paths: paths) }
    var body = Body(parameters, limit: bodyLimit, hasEnd: true) { buffer in
      Int(FCGX_GetStr(buffer.baseAddress, CInt(buffer.count), handle.pointee.in))
    }
    // Always read to the end of the stream; unread bytes would become part of the next request.
    if drain() > 0, body.defect == nil { body.refuse() }
    return Request(parameters, body: body.bytes, bodyDefect: body.defect, paths: paths)
  }

  /// Reads the rest of the content and returns its length.
  private func drain() -> Int {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer in
      var total = 0
      while true {
        let count = FCGX_GetStr(buffer.baseAddress, CInt(buffer.count), handle.pointee.in)
        total += Int(count)
        if count < buffer.count { return total }
      }
    }
  }

  /// Sends `response` to the last received request, whose method is `method`.
  ///
  /// The corresponding C functions are `FCGX_PutStr` and `FCGX_Finish_r`.
  ///
  /// - Parameter keep: False closes the connection even if the web server would keep it.
  /// - Returns: Whether the connection is still open; the caller then owns it again.
  func send(_ response: Response, to method: String, keep: Bool) -> Bool {
    response.serialized(for: method).withUnsafeBytes { bytes in
      _ = FCGX_PutStr(
        bytes.bindMemory(to: CChar.self).baseAddress, CInt(bytes.count), handle.pointee.out)
    }
    if !keep { handle.pointee.keepConnection = 0 }
    FCGX_Finish_r(handle)
    defer { handle.pointee.ipcFd = -1 }
    return handle.pointee.ipcFd >= 0
  }
}
