import Foundation
import Testing

@testable import FastCGI

/// Sockets that another process opened.
@Suite struct ListenerTests {
  /// Which descriptor is listened on; nil for a CGI program.
  private func descriptor(passed: CInt?, standardInput: CInt) throws -> CInt? {
    guard let listener = try listener(passed: passed, standardInput: standardInput) else {
      return nil
    }
    return listener.descriptor
  }

  @Test func theSocketThatSystemdPassesComesFirst() throws {
    let (passed, input) = (try Endpoint(), try Endpoint())
    let copies = (dup(passed.descriptor), dup(input.descriptor))
    defer { close(copies.1) }
    #expect(try descriptor(passed: copies.0, standardInput: copies.1) == copies.0)
  }

  @Test func standardInputIsTakenIfItIsAListeningSocket() throws {
    let input = try Endpoint()
    let copy = dup(input.descriptor)
    #expect(try descriptor(passed: nil, standardInput: copy) == copy)
  }

  @Test func anythingElseOnStandardInputMeansCGI() throws {
    let pipe = Pipe()
    let input = pipe.fileHandleForReading.fileDescriptor
    #expect(try descriptor(passed: nil, standardInput: input) == nil)
  }

  @Test func aPassedDescriptorThatIsNoSocketIsAnError() throws {
    let pipe = Pipe()
    #expect(throws: FastCGIError("getsockopt", ENOTSOCK)) {
      _ = try descriptor(passed: pipe.fileHandleForReading.fileDescriptor, standardInput: -1)
    }
  }

  @Test func theSocketOutlivesItsListener() throws {
    let endpoint = try Endpoint()
    do { _ = try Listener(descriptor: dup(endpoint.descriptor)) }
    _ = try Connection(to: endpoint.path)
  }
}
