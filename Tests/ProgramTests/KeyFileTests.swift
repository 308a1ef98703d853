import Cryptography
import Foundation
import Support
import Testing

@testable import ProcessSupport
@testable import SharedSettings

@Suite struct KeyFileTests {
  private func withFolder(_ body: (_ path: String) throws -> Void) throws {
    let folder = makeTemporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body("\(folder)/keys")
  }

  private func keyring(_ path: String) throws -> Keyring {
    var environment = Environment(["KEYS_FILE": path])
    let keyring = environment.keyring("KEYS", "keys")
    return try #require(keyring)
  }

  private func write(_ text: String, to path: String) throws {
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  private static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"

  @Test func aNewFileIsItsOwnersAlone() throws {
    try withFolder { path in
      #expect(throws: KeyFileError.unreadable(path)) { try KeyFile(atPath: path).ids }
      var file = try KeyFile(atPath: path, orNew: true)
      #expect(file.ids == [])
      #expect(file.add(named: "2026-11-21") == "2026-11-21")
      try file.save()
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      #expect(try keyring(path).newest.id == "2026-11-21")
    }
  }

  @Test func aNewKeySignsStatementsOfPaymentsToo() throws {
    try withFolder { path in
      var file = try KeyFile(atPath: path, orNew: true)
      for name in ["k1", "k2"] { _ = file.add(named: name) }
      try file.save()
      var environment = Environment(["KEYS_FILE": path])
      let read = environment.es256Keyring("KEYS", "keys")
      let keyring = try #require(read)
      #expect(try keyring.verify(keyring.sign([1])) == [1])
    }
  }

  @Test(arguments: ["k1:\(String(repeating: "A", count: 43))", "k1:\(key.dropLast(2))", "k1"])
  func unusablePaymentKeysAreAComplaintThatSaysWhatToDo(content: String) {
    var environment = Environment(["KEYS": content])
    let keyring = environment.es256Keyring("KEYS", "keys")
    #expect(keyring == nil)
    #expect(environment.complaints.count == 1)
    #expect(environment.complaints[0].contains("`switchboard-companion keys add` makes them"))
    #expect(!environment.complaints[0].contains(content))
  }

  @Test func aRotationKeepsEveryKeyUntilItIsRemoved() throws {
    try withFolder { path in
      try write("k1:\(Self.key),\n k0:\(Self.key)\n", to: path)
      let signed = JSONWebToken.sign(Array("{}".utf8), with: try keyring(path).newest)
      var file = try KeyFile(atPath: path)
      #expect(file.ids == ["k1", "k0"])
      let id = file.add(named: "new")
      #expect(file.ids == ["k1", "k0", "new"])
      try file.promote(id)
      try file.remove("k0")
      try file.save()
      let keys = try keyring(path)
      #expect(keys.keys.map(\.id) == ["new", "k1"])
      #expect(try JSONWebToken.verify(signed, with: keys) == Array("{}".utf8))
      let ids = try KeyFile(atPath: path).ids
      #expect(ids == ["new", "k1"])
    }
  }

  @Test func keysOfOneDayHaveIdsOfTheirOwn() throws {
    try withFolder { path in
      var file = try KeyFile(atPath: path, orNew: true)
      #expect((1...3).map { _ in file.add(named: "day") } == ["day", "day-2", "day-3"])
      try file.save()
      let bytes = try keyring(path).keys.map { hmacSHA256("", with: $0) }
      #expect(Set(bytes).count == 3)
    }
  }

  @Test func theKeyThatSignsStaysAndOneThatIsNotThereIsNamed() throws {
    try withFolder { path in
      var file = try KeyFile(atPath: path, orNew: true)
      _ = file.add(named: "a")
      #expect(throws: KeyFileError.signs("a")) { try file.remove("a") }
      #expect(throws: KeyFileError.unknown("b")) { try file.remove("b") }
      #expect(throws: KeyFileError.unknown("b")) { try file.promote("b") }
      #expect(file.ids == ["a"])
    }
  }

  @Test(
    arguments: [
      "secret", "k1", "k1:c2hvcnQ", "k1:\(key)\nk1:\(key)", "k1: \(key)", "k1:\(key)=",
      "k 1:\(key)",
    ])
  func whatHoldsNoKeysIsLeftAsItIs(content: String) throws {
    try withFolder { path in
      try write(content, to: path)
      #expect(throws: KeyFileError.malformed(path)) { try KeyFile(atPath: path).ids }
      #expect(!"\(KeyFileError.malformed(path))".contains(content))
    }
  }

  @Test func modeAndOwnerStayAndNothingIsLeftBehind() throws {
    try withFolder { path in
      try write("k1:\(Self.key)\n", to: path)
      try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
      var file = try KeyFile(atPath: path)
      _ = file.add(named: "k2")
      try file.save()
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == 0o640)
      let folder = URL(filePath: path).deletingLastPathComponent().path()
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["keys"])
    }
  }

  @Test(arguments: [0o644, 0o602, 0o601])
  func aFileThatIsOpenToEverybodyIsRefused(mode: Int) throws {
    try withFolder { path in
      try write("k1:\(Self.key)\n", to: path)
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      #expect(throws: KeyFileError.exposed(path)) { try KeyFile(atPath: path, orNew: true).ids }
    }
  }

  /// Otherwise a device would be replaced, and reading a pipe would wait.
  @Test func whatIsNoRegularFileIsLeftAsItIs() throws {
    try withFolder { path in
      #expect(mkfifo(path, 0o600) == 0)
      #expect(throws: KeyFileError.irregular(path)) { try KeyFile(atPath: path, orNew: true).ids }
      let folder = String(path.dropLast("/keys".count))
      #expect(throws: KeyFileError.irregular(folder)) {
        try KeyFile(atPath: folder, orNew: true).ids
      }
    }
  }

  @Test func thePublicHalvesHaveTheIDsAndTheOrderOfTheFile() throws {
    try withFolder { path in
      var file = try KeyFile(atPath: path, orNew: true)
      let ids = ["b", "a"].map { file.add(named: $0) }
      let entries = try file.publicEntries()
      try file.save()
      #expect(entries.map { String($0.prefix(9)) } == ids.map { "public:\($0):" })
      let text = try String(contentsOfFile: path, encoding: .utf8)
      let sealed = seal(
        [1], authenticating: "", for: try BoxPublicKeys(parsing: entries.joined(separator: "\n")))
      #expect(try open(sealed, authenticating: "", with: try BoxKeys(parsing: text)) == [1])
    }
  }

  @Test(arguments: ["", "k1:\(base64URLEncoded([UInt8](repeating: 7, count: 40)))"])
  func keysOfAnotherSizeHaveNoPublicHalves(content: String) throws {
    try withFolder { path in
      try write(content, to: path)
      #expect(throws: KeyFileError.unboxable(path)) { try KeyFile(atPath: path).publicEntries() }
    }
  }

  @Test func aFileThatCannotBeReplacedSaysSo() throws {
    try withFolder { path in
      var file = try KeyFile(atPath: path, orNew: true)
      _ = file.add(named: "k1")
      try FileManager.default.removeItem(
        atPath: URL(filePath: path).deletingLastPathComponent().path())
      var error: KeyFileError?
      do throws(KeyFileError) { try file.save() } catch let thrown { error = thrown }
      #expect(error == .unwritable(path))
    }
  }

  @Test func whatASymbolicLinkNamesIsReplaced() throws {
    try withFolder { path in
      try write("k1:\(Self.key)\n", to: path)
      try FileManager.default.createSymbolicLink(
        atPath: path + ".link", withDestinationPath: path)
      var file = try KeyFile(atPath: path + ".link")
      _ = file.add(named: "k2")
      try file.save()
      let ids = try KeyFile(atPath: path).ids
      #expect(ids == ["k1", "k2"])
      let link = try FileManager.default.destinationOfSymbolicLink(atPath: path + ".link")
      #expect(link == path)
    }
  }

  @Test func keysThatAreAddedAtOnceAreAllKept() throws {
    try withFolder { path in
      DispatchQueue.concurrentPerform(iterations: 16) { _ in
        do {
          var file = try KeyFile(atPath: path, orNew: true)
          _ = file.add(named: "day")
          try file.save()
        } catch {
          Issue.record(error)
        }
      }
      let ids = try KeyFile(atPath: path).ids
      #expect(Set(ids).count == 16)
    }
  }
}
