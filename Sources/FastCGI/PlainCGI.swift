import Glibc
package import HTTP

/// Answers the one request of a plain CGI program (RFC 3875): its parameters are `environ`, its
/// content is standard input, the response goes to standard output.
///
/// - Parameters:
///   - bodyLimit: The largest content to accept, in octets.
///   - basePath: The base path of the site, see ``RequestPaths``.
/// - Throws: ``FastCGIError`` if there is no `REQUEST_METHOD` and so no request (`getenv`), or
///   if the response cannot be written (`write`).
package func respondAsCGI(
  bodyLimit: Int, below basePath: String = "", _ handler: (Request) -> Response
) throws(FastCGIError) {
  try respond(
    to: Parameters(copying: environ), input: STDIN_FILENO, output: STDOUT_FILENO,
    bodyLimit: bodyLimit, below: basePath, handler)
}

/// Like ``respondAsCGI(bodyLimit:below:_:)``, but with explicit environment, input and output.
func respond(
  to parameters: Parameters, input: CInt, output: CInt, bodyLimit: Int, below basePath: String = "",
  restLimit: Duration = .seconds(2), _ handler: (Request) -> Response
) throws(FastCGIError) {
  let body = Body(parameters, limit: bodyLimit, hasEnd: false) { buffer in
    var count = 0
    while count < buffer.count {
      let received = read(input, buffer.baseAddress! + count, buffer.count - count)
      if received < 0, errno == EINTR { continue }
      guard received > 0 else { break }
      count += received
    }
    return count
  }
  // SCRIPT_NAME may be the program's own path.
  let paths = RequestPaths(source: .target, basePath: basePath)
  guard
    let request = Request(parameters, body: body.bytes, bodyDefect: body.defect, paths: paths)
  else {
    throw FastCGIError("getenv", EINVAL)
  }
  let bytes = handler(request).serialized(for: request.method)
  var sent = 0
  while sent < bytes.count {
    let written = bytes.withUnsafeBytes { write(output, $0.baseAddress! + sent, $0.count - sent) }
    if written < 0, errno == EINTR { continue }
    guard written > 0 else { throw FastCGIError("write", errno) }
    sent += written
  }
  if body.defect != nil { dropInput(from: input, within: restLimit) }
}

/// Reads the content that was not accepted, up to 16 MiB. A web server may lose the response if the
/// program ends while content is unread or unsent.
private func dropInput(from input: CInt, within limit: Duration) {
  let deadline = ContinuousClock.now + limit
  var left = 16 << 20
  withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { room in
    while left > 0 {
      var awaited = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
      let time = max(.zero, deadline - .now) / .milliseconds(1)
      guard poll(&awaited, 1, CInt(time)) > 0 else { return }
      let received = read(input, room.baseAddress, room.count)
      guard received > 0 else { return }
      left -= received
    }
  }
}
