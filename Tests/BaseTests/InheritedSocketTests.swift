import Foundation
import Testing

@testable import Base

/// The choice of the listening socket among inherited descriptors.
@Suite struct InheritedSocketTests {
  @Test func theSocketThatSystemdPassesComesFirst() {
    let (passed, input) = (Socket(), Socket())
    passed.listen()
    input.listen()
    #expect(
      InheritedSocket.choose(passed: passed.descriptor, standardInput: input.descriptor)
        == .listening(descriptor: passed.descriptor))
  }

  @Test func standardInputIsTakenIfItListens() {
    let input = Socket()
    #expect(InheritedSocket.choose(passed: nil, standardInput: input.descriptor) == .none)
    input.listen()
    #expect(
      InheritedSocket.choose(passed: nil, standardInput: input.descriptor)
        == .listening(descriptor: input.descriptor))
  }

  @Test func anythingElseOnStandardInputIsNone() {
    let pipe = Pipe()
    #expect(
      InheritedSocket.choose(
        passed: nil, standardInput: pipe.fileHandleForReading.fileDescriptor) == .none)
  }

  @Test func whatSystemdPassesMustListen() {
    let (pipe, passed, input) = (Pipe(), Socket(), Socket())
    input.listen()
    for descriptor in [pipe.fileHandleForReading.fileDescriptor, passed.descriptor] {
      #expect(
        InheritedSocket.choose(passed: descriptor, standardInput: input.descriptor)
          == .notListening)
    }
  }

  @Test func aVariableForAnotherProcessIsNotOurs() async {
    await #expect(processExitsWith: .success) {
      setenv("LISTEN_PID", "1", 1)
      setenv("LISTEN_FDS", "1", 1)
      let input = Socket()
      input.listen()
      dup2(input.descriptor, STDIN_FILENO)
      #expect(InheritedSocket.inherit() == .listening(descriptor: STDIN_FILENO))
      #expect(getenv("LISTEN_PID") == nil && getenv("LISTEN_FDS") == nil)
    }
  }
}

/// A stream socket with its own address.
private final class Socket {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)

  deinit { close(descriptor) }

  func listen() { #expect(Glibc.listen(descriptor, 1) == 0) }
}
