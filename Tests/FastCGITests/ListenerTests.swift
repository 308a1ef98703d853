import Foundation
import Testing

@testable import FastCGI

@Suite struct ListenerTests {
  @Test func theSocketOutlivesItsListener() throws {
    let endpoint = try Endpoint()
    do { _ = try Listener(descriptor: dup(endpoint.descriptor)) }
    _ = try Connection(to: endpoint.path)
  }
}
