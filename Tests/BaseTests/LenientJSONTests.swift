import Base
import Support
import Testing

/// Lenient mode, and values that may have another type.
@Suite struct LenientJSONTests {
  private func reader(_ text: String, _ mode: JSONReader.Mode = .lenient) -> JSONReader {
    JSONReader(Array(text.utf8), mode)
  }

  /// Skips `text` as one value.
  private func skip(_ text: String, _ mode: JSONReader.Mode = .lenient) throws {
    var reader = reader(text, mode)
    try reader.skip()
    try reader.end()
  }

  @Test(arguments: [
    #"{"a":[1,{"b":"}]\"["}],"c":null}"#, "[]", "{}", #"" \" ""#, "-1.5e+3", " [ { } , [ ] ] ",
  ])
  func bothModesPassOverWellFormedValues(text: String) throws {
    try skip(text, .strict)
    try skip(text)
  }

  /// Lenient mode checks only brackets and the ends of strings.
  @Test(arguments: [
    #"["\x",1.2.3,nope]"#, "[1 2]", "{1:2}", "[\"a\u{0}b\n\"]", #"{"a":tru}"#, "[,:]", "01",
  ])
  func lenientModePassesOverWhatStrictModeRefuses(text: String) throws {
    try skip(text)
    #expect(throws: JSONReader.Failure.malformed) { try skip(text, .strict) }
  }

  @Test(arguments: [
    "", " ", "}", "]", "[", "{", "[}", "{]", #"{"a":[1}]"#, #""a"#, #""a\"#, #"["a]"#, "[]]", ",",
    ":",
    "@", "[@]", "[] []",
  ])
  func bothModesRefuseOpenBracketsAndStrings(text: String) {
    #expect(throws: JSONReader.Failure.malformed) { try skip(text, .strict) }
    #expect(throws: JSONReader.Failure.malformed) { try skip(text) }
  }

  @Test func theDepthIsLimited() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    let maximum = JSONReader.Mode.lenient.maximumDepth
    try skip(nested(maximum))
    #expect(throws: JSONReader.Failure.tooDeep) { try skip(nested(maximum + 1)) }
    #expect(throws: JSONReader.Failure.tooDeep) { try skip(nested(1_000_000)) }
    // Levels that are read count like skipped levels.
    for (depth, isAllowed) in [(maximum - 1, true), (maximum, false)] {
      var reader = reader("[\(nested(depth))]")
      let result = Result { try reader.array { element in try element.skip() } }
      let hasPassed = (try? result.get()) != nil
      #expect(hasPassed == isAllowed)
    }
  }

  @Test(
    arguments: [
      ("7", 7), ("-7", -7), ("7.9", 7), ("-7.9", -7), ("1.5e3", 1500),
      ("9007199254740993", 9_007_199_254_740_993),
      ("9223372036854775807", .max), ("9223372036854775808", nil), ("1e99", nil), ("-", nil),
      (#""7""#, nil), ("null", nil), ("true", nil), ("[7]", nil), (#"{"a":7}"#, nil),
    ] as [(String, Int64?)])
  func integersLoseTheirFraction(text: String, value: Int64?) throws {
    var reader = reader("[\(text),1]")
    var values: [Int64?] = []
    try reader.array { element in values.append(try element.optionalInteger()) }
    #expect(values == [value, 1])
  }

  @Test(
    arguments: [
      (#""a""#, "a"), (#""""#, ""), (#""\u00e9\n\"\\\/\b\f\r\t""#, "\u{e9}\n\"\\/\u{8}\u{c}\r\t"),
      (#""\ud83c\udf89""#, "🎉"), (#""\ud83c""#, "\u{fffd}"), (#""\ud83cx""#, "\u{fffd}x"),
      (#""\udc00""#, "\u{fffd}"), (#""\x""#, "x"), (#""\u12""#, ""), ("\"a\nb\"", "a\nb"),
      ("7", nil), ("null", nil), (#"["a"]"#, nil), (#"{"a":"b"}"#, nil),
    ] as [(String, String?)])
  func brokenEscapesAreReplaced(text: String, value: String?) throws {
    var reader = reader("[\(text),\"x\"]")
    var values: [String?] = []
    try reader.array { element in values.append(try element.optionalString()) }
    #expect(values == [value, "x"])
  }

  @Test func bytesThatAreNoUTF8AreReplaced() throws {
    var reader = JSONReader([0x22, 0x61, 0xff, 0x22], .lenient)
    #expect(try reader.string() == "a\u{fffd}")
  }

  @Test(arguments: [
    (0, ""), (1, "a"), (2, "a"), (7, "a\u{e9}"), (9, "a\u{e9}bc"), (.max, "a\u{e9}bc"),
  ])
  func stringsAreCutToASize(size: Int, value: String) throws {
    var reader = reader(#"["a\u00e9bc",1]"#)
    var text: String?
    var last: Int64?
    try reader.array { element in
      if text == nil {
        text = try element.optionalString(atMost: size)
      } else {
        last = try element.optionalInteger()
      }
    }
    #expect(text == value)
    #expect(last == 1)
  }

  @Test func otherTypesArePassedOver() throws {
    for mode in [JSONReader.Mode.strict, .lenient] {
      var reader = reader(#"[{"a":1},[2],"s",3,true,null]"#, mode)
      var found: [String] = []
      try reader.array { element in
        var here = element
        if try here.optionalObject({ _, value in try value.skip() }) { found.append("object") }
        here = element
        if try here.optionalArray({ value in try value.skip() }) { found.append("array") }
        here = element
        if try here.optionalString() != nil { found.append("string") }
        here = element
        if try here.optionalInteger() != nil { found.append("integer") }
        if try element.isTrue() { found.append("true") }
      }
      try reader.end()
      #expect(found == ["object", "array", "string", "integer", "true"])
    }
  }

  @Test func namesAreUnescaped() throws {
    var reader = reader(#"{"\u0061b":1,"c\"d":2,"é":3}"#)
    var names: [String] = []
    try reader.object { name, value in
      names.append(name)
      try value.skip()
    }
    #expect(names == ["ab", "c\"d", "é"])
  }

  /// Mutated bytes do not crash the reader, and it skips every text that strict mode accepts.
  @Test func mutatedTextIsPassedOverWhereItIsValid() throws {
    let genuine = [
      #"{"active_games":[{"id":1,"json":{"clock":{"last_move":1.5e3}}}],"x":"\ud83c\udf89"}"#,
      #"[[[],{"a":{}}],"\\\"",null,true,-0.5]"#,
    ]
    var generator = SeededGenerator(state: 4)
    for _ in 0..<5000 {
      let bytes = generator.mutate(genuine)
      var reader = JSONReader(bytes, .lenient)
      let result = Result {
        try reader.skip()
        try reader.end()
      }
      if (try? JSONValue(bytes)) != nil { try result.get() }
    }
  }
}
