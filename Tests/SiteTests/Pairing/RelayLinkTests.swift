import Support
import Testing

/// The code that the built relay contains.
@Suite struct RelayLinkTests {
  private func output(_ program: String, _ arguments: String...) throws -> String {
    let path = programFolder.appending(path: "switchboard-relay").path()
    let outcome = runProgram(program, arguments + [path])
    try #require(outcome.status == 0, "\(outcome.output)")
    return outcome.output
  }

  @Test func theRelayLoadsNoLibraryThatOpensKeysOrReachesOtherHosts() throws {
    let libraries = try output("ldd")
    #expect(libraries.contains("libmariadb"))
    for name in ["sodium", "curl", "nghttp2"] { #expect(!libraries.contains("lib\(name)")) }
  }

  /// Mangled names contain the name of the module.
  @Test(arguments: ["Cryptography", "Delivery", "Store", "API"])
  func theRelayContainsNothingOf(module: String) throws {
    let symbols = try output("nm")
    #expect(symbols.contains("$s10AgentRelay"))
    #expect(!symbols.contains("$s\(module.count)\(module)"))
  }
}
