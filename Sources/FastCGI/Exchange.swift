import CFastCGI
import Glibc
import HTTP

/// libfcgi as parser and writer of one connection at a time: an `FCGX_Request`, owned.
///
/// Connections are accepted and awaited elsewhere and lent to libfcgi when a whole request has arrived. For
/// that, this file (and no other) sets two fields that the header asks to leave alone: `ipcFd`, the
/// connection, and `keepConnection`. The sources of 2.4.2 and 2.4.7 were read for it, 2.4.2 tested.
///
/// libfcgi ends the process if it cannot allocate what a parameter claims to be long: only the web
/// server may reach the socket.
struct Exchange: ~Copyable {
  /// At a fixed address: the streams of a request point back to it.
  private let handle: UnsafeMutablePointer<FCGX_Request>

  private let paths: RequestPaths

  init(paths: RequestPaths) {
    self.paths = paths
    Self.prepareLibrary
    handle = .allocate(capacity: 1)
    // Without a listening socket libfcgi never waits for a connection.
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

  /// Reads a request from `connection`, where it has arrived as a whole, and which passes to libfcgi.
  ///
  /// The corresponding C function is `FCGX_Accept_r`.
  ///
  /// - Returns: nil if what came is not a request; the connection is closed then.
  func receive(from connection: CInt, bodyLimit: Int) -> Request? {
    handle.pointee.ipcFd = connection
    // FCGX_Accept_r first finishes the request before: it must not close the connection.
    handle.pointee.keepConnection = 1
    // Closing is then just that: no waiting for the peer to close first.
    FCGX_Detach(handle)
    guard FCGX_Accept_r(handle) == 0 else { return nil }
    let request = readRequest(bodyLimit: bodyLimit)
    if request == nil { FCGX_Free(handle, 1) }
    return request
  }

  /// Reads a request that arrived on `connection` in pieces. libfcgi reads from descriptors only, so it gets them in
  /// a file in memory.
  ///
  /// - Returns: nil as above.
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
    // libfcgi takes a connection cut between two parameters for the end of the parameters.
    guard role == responder || role == authorizer, FCGX_GetError(handle.pointee.in) == 0,
      let environment = handle.pointee.envp
    else { return nil }
    let parameters = Parameters(copying: environment)
    guard role == responder else { return Request(authorizing: parameters, paths: paths) }
    var body = Body(parameters, limit: bodyLimit) { buffer in
      Int(FCGX_GetStr(buffer.baseAddress, CInt(buffer.count), handle.pointee.in))
    }
    // The end of the stream must be read in any case, or it would precede the next request.
    if drain() > 0, body.defect == nil { body.refuse() }
    return Request(parameters, body: body.bytes, bodyDefect: body.defect, paths: paths)
  }

  /// Reads the rest of the content, and returns its length.
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

  /// Sends `response` to the request just received, of `method`.
  ///
  /// The corresponding C functions are `FCGX_PutStr` and `FCGX_Finish_r`.
  ///
  /// - Parameter keep: False closes the connection even if the web server would keep it.
  /// - Returns: Whether the connection is open, and the caller's again.
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
