import Foundation
import Support

/// The error in a connection or an answer.
enum ClientError: Error, Equatable {
  case system(String, CInt)
  /// The server closed the connection before the answer was complete.
  case closed
  case unexpectedRecord(UInt8)
}

/// Record types (FastCGI specification §8).
enum RecordType: UInt8 {
  case begin = 1
  case abort = 2
  case end = 3
  case params = 4
  case stdin = 5
  case stdout = 6
}

/// One record.
func record(
  _ type: RecordType, _ content: [UInt8] = [], id: UInt16 = 1, padding: Int = 0
) -> [UInt8] {
  [
    1, type.rawValue, UInt8(id >> 8), UInt8(id & 0xff), UInt8(content.count >> 8),
    UInt8(content.count & 0xff), UInt8(padding), 0,
  ] + content + [UInt8](repeating: 0, count: padding)
}

func beginRecord(keep: Bool, role: UInt8 = 1) -> [UInt8] {
  record(.begin, [0, role, keep ? 1 : 0, 0, 0, 0, 0, 0])
}

/// A name-value pair (§3.4).
func pair(_ name: String, _ value: String) -> [UInt8] {
  func length(_ count: Int) -> [UInt8] {
    count < 128
      ? [UInt8(count)]
      : [0x80 | UInt8(count >> 24), UInt8(count >> 16 & 0xff), UInt8(count >> 8 & 0xff)]
        + [UInt8(count & 0xff)]
  }
  return length(name.utf8.count) + length(value.utf8.count) + Array(name.utf8) + Array(value.utf8)
}

/// A whole request in a web server's form.
func requestBytes(
  _ method: String = "GET", _ target: String = "/", _ more: [(String, String)] = [],
  body: [UInt8] = [], keep: Bool = false, contentLength: String? = nil, recordSize: Int = 65_528,
  padding: Int = 0
) -> [UInt8] {
  let path = String(target.prefix { $0 != "?" })
  let parameters =
    [
      ("REQUEST_METHOD", method), ("SCRIPT_NAME", path), ("REQUEST_URI", target),
      ("QUERY_STRING", String(target.dropFirst(path.count + 1))),
      ("CONTENT_LENGTH", contentLength ?? (body.isEmpty ? "" : String(body.count))),
    ] + more
  return beginRecord(keep: keep)
    + stream(.params, parameters.flatMap { pair($0.0, $0.1) }, recordSize, padding)
    + stream(.stdin, body, recordSize, padding)
}

/// `content` in records of at most `recordSize` octets, with the empty record at the end.
func stream(
  _ type: RecordType, _ content: [UInt8], _ recordSize: Int = 65_528, _ padding: Int = 0
) -> [UInt8] {
  stride(from: 0, to: content.count, by: recordSize).flatMap {
    record(type, Array(content[$0..<min($0 + recordSize, content.count)]), padding: padding)
  } + record(type)
}

/// A parsed CGI response.
struct Answer: Equatable {
  var head: String
  var body: String

  init(_ bytes: [UInt8]) {
    let parts = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n\r\n")
    head = parts[0]
    body = parts.dropFirst().joined(separator: "\r\n\r\n")
  }
}

/// A connection to the server, closed at the end.
final class Connection {
  let descriptor: CInt

  init(_ family: CInt = AF_UNIX) {
    descriptor = socket(family, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  }

  convenience init(to path: String) throws {
    self.init()
    try connect(to: path)
  }

  convenience init(toPort port: UInt16) throws {
    self.init(AF_INET)
    var isConnected = false
    let descriptor = descriptor
    _ = withLoopbackAddress(port: port) { address in
      let length = socklen_t(MemoryLayout<sockaddr_in>.size)
      isConnected = Glibc.connect(descriptor, address, length) == 0
    }
    guard isConnected else { throw ClientError.system("connect", errno) }
  }

  func connect(to path: String) throws {
    try withAddress(of: path) {
      guard Glibc.connect(descriptor, $0, $1) == 0 else {
        throw ClientError.system("connect", errno)
      }
    }
  }

  deinit { close(descriptor) }

  func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + sent, $0.count - sent, CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw ClientError.system("send", errno) }
      sent += count
    }
  }

  /// Closes this side of the connection.
  func endSending() { shutdown(descriptor, CInt(SHUT_WR)) }

  /// Reads `count` octets.
  func receive(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var received = 0
    while received < count {
      let size = waiting(for: "octets of the server") {
        bytes.withUnsafeMutableBytes {
          recv(descriptor, $0.baseAddress! + received, count - received, 0)
        }
      }
      if size < 0, errno != ECONNRESET { throw ClientError.system("recv", errno) }
      guard size > 0 else { throw ClientError.closed }
      received += size
    }
    return bytes
  }

  /// Reads one answer up to its END_REQUEST.
  func answer() throws -> Answer {
    var output: [UInt8] = []
    while true {
      let header = try receive(8)
      let content = try receive(Int(header[4]) << 8 | Int(header[5]))
      _ = try receive(Int(header[6]))
      switch RecordType(rawValue: header[1]) {
      case .stdout: output += content
      case .end: return Answer(output)
      default: throw ClientError.unexpectedRecord(header[1])
      }
    }
  }

  /// Sends a request and reads its answer.
  func answer(to bytes: [UInt8]) throws -> Answer {
    try send(bytes)
    return try answer()
  }

  /// Waits until the server closes the connection.
  func waitForClose() throws {
    while true {
      do { _ = try receive(1) } catch ClientError.closed { return }
    }
  }
}

/// A listening socket in its own folder, which is removed at the end.
final class Endpoint: Sendable {
  let path: String
  let descriptor: CInt

  init() throws {
    let folder = FileManager.default.temporaryDirectory.path + "/fastcgi-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    path = folder + "/s"
    descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    try withAddress(of: path) {
      guard bind(descriptor, $0, $1) == 0, listen(descriptor, 128) == 0 else {
        throw ClientError.system("bind", errno)
      }
    }
  }

  deinit {
    close(descriptor)
    try? FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent)
  }
}
