import Cryptography
import Foundation
import Testing

@testable import ProcessSupport
@testable import SharedSettings

@Suite struct EnvironmentTests {
  private enum Choice: String, CaseIterable { case one, two }

  /// Calls `body` with a file with `content`, and removes the file afterwards.
  private func withFile<T>(_ content: [UInt8], _ body: (String) throws -> T) throws -> T {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try Data(content).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    return try body(file.path())
  }

  @Test func aVariableIsItsValue() {
    var environment = Environment(["NAME": " value ", "EMPTY": ""])
    #expect(environment.optional("NAME") == " value ")
    #expect(environment.optional("EMPTY") == nil)
    #expect(environment.optional("ABSENT") == nil)
    #expect(environment.required("NAME", "a name") == " value ")
    #expect(environment.complaints == [])
  }

  @Test(
    arguments: [
      ("secret\n", "secret"), ("secret", "secret"), ("secret\n\n", "secret\n"),
      (" secret \n", " secret "), ("a\nb\n", "a\nb"), ("ä🎉\n", "ä🎉"), ("\n", nil), ("", nil),
    ] as [(String, String?)])
  func aFilesContentLessItsLineEndIsTheValue(content: String, value: String?) throws {
    try withFile(Array(content.utf8)) { path in
      var environment = Environment(["NAME_FILE": path])
      #expect(environment.optional("NAME") == value)
      #expect(environment.complaints == [])
    }
  }

  @Test func theVariableItselfGoesBeforeItsFile() throws {
    try withFile(Array("file".utf8)) { path in
      var environment = Environment(["NAME": "variable", "NAME_FILE": path])
      #expect(environment.optional("NAME") == "variable")
      environment = Environment(["NAME": "", "NAME_FILE": path])
      #expect(environment.optional("NAME") == "file")
      environment = Environment(["NAME": "variable", "NAME_FILE": "/nonexistent"])
      #expect(environment.optional("NAME") == "variable")
      #expect(environment.complaints == [])
    }
  }

  @Test(arguments: ["/nonexistent/secret", "/", "/proc/self/mem"])
  func aFileThatCannotBeReadIsNamed(path: String) {
    var environment = Environment(["NAME_FILE": path])
    #expect(environment.required("NAME", "a name") == "")
    #expect(environment.complaints == ["NAME_FILE: \(path) cannot be read as text."])
  }

  @Test func aFileThatAVariableNamesIsRead() throws {
    try withFile(Array("text\n".utf8)) { path in
      var environment = Environment(["NAME": path, "OTHER": "/nonexistent"])
      #expect(environment.contentOfFile(namedBy: "NAME") == "text\n")
      #expect(environment.contentOfFile(namedBy: "NONE") == nil)
      #expect(environment.complaints == [])
      #expect(environment.contentOfFile(namedBy: "OTHER") == nil)
      #expect(environment.complaints == ["OTHER: /nonexistent cannot be read as text."])
    }
  }

  @Test func aFileThatIsNoTextIsNamedWithoutItsContent() throws {
    try withFile([0x73, 0xff, 0xfe]) { path in
      var environment = Environment(["NAME_FILE": path])
      #expect(environment.optional("NAME") == nil)
      #expect(environment.complaints == ["NAME_FILE: \(path) cannot be read as text."])
    }
  }

  @Test func aFileIsReadWholeOrNotAtAll() throws {
    let long = [UInt8](repeating: 0x61, count: 100_000)
    try withFile(long) { path in
      var environment = Environment(["NAME_FILE": path])
      let value = environment.optional("NAME")
      #expect(value == nil || value?.utf8.count == long.count)
      #expect(value != nil || environment.complaints.count == 1)
    }
  }

  @Test func allThatIsMissingIsNamedAtOnce() {
    var environment = Environment(["SECOND": ""])
    _ = environment.required("FIRST", "the first thing")
    _ = environment.required("SECOND", "the second thing")
    _ = environment.keyring("KEYS", "the keys")
    let complaints = [
      "FIRST is missing (or FIRST_FILE): the first thing.",
      "SECOND is missing (or SECOND_FILE): the second thing.",
      "KEYS is missing (or KEYS_FILE): the keys.",
    ]
    #expect(environment.complaints == complaints)
    #expect(
      "\(ConfigurationError(complaints))"
        == "The configuration is not complete:\n  " + complaints.joined(separator: "\n  "))
  }

  @Test(arguments: [("1", 1), ("10", 10), ("+5", 5), ("007", 7)])
  func aWholeNumberInItsRangeIsRead(text: String, value: Int) {
    var environment = Environment(["NUMBER": text])
    #expect(environment.integer("NUMBER", in: 1...10, default: 3) == value)
    #expect(environment.complaints == [])
  }

  @Test(arguments: ["0", "11", "-1", "1.0", "1e1", "ten", " 5", "5 ", "99999999999999999999"])
  func anyOtherNumberIsAComplaintThatDoesNotRepeatIt(text: String) {
    var environment = Environment(["NUMBER": text])
    #expect(environment.integer("NUMBER", in: 1...10, default: 3) == 3)
    #expect(environment.complaints == ["NUMBER must be a whole number from 1 to 10."])
  }

  @Test func anAbsentNumberOrChoiceIsItsDefault() {
    var environment = Environment([:])
    #expect(environment.integer("NUMBER", in: 1...10, default: 3) == 3)
    #expect(environment.choice("CHOICE", default: Choice.two) == .two)
    #expect(environment.complaints == [])
  }

  @Test func aChoiceIsOneOfItsWords() {
    var environment = Environment(["CHOICE": "one", "WRONG": "One secret"])
    #expect(environment.choice("CHOICE", default: Choice.two) == .one)
    #expect(environment.choice("WRONG", default: Choice.two) == .two)
    #expect(environment.complaints == ["WRONG must be one of one, two."])
  }

  @Test func whatIsParsedIsComplainedOfByItsRule() {
    var environment = Environment(["VALUE": "secret"])
    #expect(environment.value("VALUE", "a value", "must be a number") { Int($0) } == nil)
    #expect(environment.complaints == ["VALUE must be a number."])
  }

  @Test func keysAreReadFromAListOrAFile() throws {
    let keys = ["b", "a"].map { name in
      "\(name):" + base64URLEncoded([UInt8](repeating: 7, count: 32))
    }
    var environment = Environment(["KEYS": keys.joined(separator: ",")])
    #expect(environment.keyring("KEYS", "the keys")?.keys.map(\.id) == ["b", "a"])
    try withFile(Array((keys.joined(separator: "\n") + "\n").utf8)) { path in
      environment = Environment(["KEYS_FILE": path])
      #expect(environment.keyring("KEYS", "the keys")?.newest.id == "b")
    }
    #expect(environment.complaints == [])
  }

  @Test(arguments: [
    "secret", "a:c2hvcnQ", "a:!!!secret", ":AAAA", "a:",
    "a:\(String(repeating: "A", count: 43)),a:\(String(repeating: "A", count: 43))",
  ])
  func malformedKeysAreAComplaintThatDoesNotRepeatThem(text: String) {
    var environment = Environment(["KEYS": text])
    #expect(environment.keyring("KEYS", "the keys") == nil)
    #expect(
      environment.complaints
        == ["KEYS must be a list of id:base64url, each of at least 32 bytes."])
  }

  @Test func keysOfBoxesAreReadInTheSameForm() throws {
    let key = "c1:" + base64URLEncoded([UInt8](repeating: 7, count: 32))
    var environment = Environment(["PRIVATE": key])
    let read = environment.boxKeys("PRIVATE", "the keys")
    let keys = try #require(read)
    environment = Environment(["PUBLIC": keys.publicKeys.entries[0]])
    let readPublic = environment.boxPublicKeys("PUBLIC", "the keys")
    let known = try #require(readPublic)
    #expect(
      try open(seal([1], authenticating: "", for: known), authenticating: "", with: keys) == [1])
    #expect(environment.complaints == [])
  }

  @Test(arguments: [
    "secret", "a:c2hvcnQ", "a:\(String(repeating: "A", count: 54))",
    "a:\(String(repeating: "A", count: 43)),a:\(String(repeating: "A", count: 43))",
  ])
  func malformedKeysOfBoxesAreAComplaintThatDoesNotRepeatThem(text: String) {
    var environment = Environment(["KEYS": text])
    #expect(environment.boxKeys("KEYS", "the keys") == nil)
    #expect(environment.boxPublicKeys("KEYS", "the keys") == nil)
    #expect(
      environment.complaints == [
        "KEYS must be a list of id:base64url, each of 32 bytes.",
        "KEYS must be the output of `switchboard-companion keys public`.",
      ])
  }

  @Test func theProcesssOwnVariablesAreRead() async {
    await #expect(processExitsWith: .success) {
      setenv("SWITCHBOARD_TEST", "a=b=c", 1)
      setenv("SWITCHBOARD_TEST_EQUAL", "=b", 1)
      setenv("SWITCHBOARD_TEST_EMPTY", "", 1)
      var environment = Environment.ofProcess()
      #expect(environment.optional("SWITCHBOARD_TEST") == "a=b=c")
      #expect(environment.optional("SWITCHBOARD_TEST_EQUAL") == "=b")
      #expect(environment.optional("SWITCHBOARD_TEST_EMPTY") == nil)
    }
  }
}
