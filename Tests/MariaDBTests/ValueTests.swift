import Base
import MariaDB
import Support
import Testing

/// Values keep their content from a parameter to a row.
@Suite struct ValueTests {
  @Test(arguments: [0, 1, -1, 127, -128, 255, 65_536, .max, .min] as [Int64])
  func anIntegerComesBack(_ value: Int64) throws {
    try withTable("v BIGINT") { connection in
      _ = try connection.execute("INSERT INTO t VALUES (1, ?)", [.integer(value)])
      let back = try connection.row("SELECT v FROM t") { row in row.integer(0) }
      #expect(back == value)
    }
  }

  @Test(arguments: [
    "", " ", "a", "a ", "Żółć", "日本語", "👩‍👩‍👧‍👦🇨🇭", "nul \0 inside", "e\u{301}", "'\"\\%_;--",
  ])
  func aTextComesBack(_ value: String) throws {
    try withTable("v LONGTEXT") { connection in
      _ = try connection.execute("INSERT INTO t VALUES (1, ?)", [.text(value)])
      let back = try connection.row("SELECT v FROM t") { row in row.text(0) }
      // Compares bytes, because canonically equal strings may have other bytes.
      #expect(back.map { Array($0.utf8) } == Array(value.utf8))
    }
  }

  @Test(arguments: [127, 128, 129, 1024, 1_200_000])
  func aLongTextComesBack(_ length: Int) throws {
    try withTable("v LONGTEXT, w LONGTEXT") { connection in
      let (ascii, wide) = (
        String(repeating: "x", count: length), String(repeating: "é", count: length)
      )
      _ = try connection.execute("INSERT INTO t VALUES (1, ?, ?)", [.text(ascii), .text(wide)])
      let same = try connection.row("SELECT v, w FROM t") { row in
        row.text(0) == ascii && row.text(1) == wide
      }
      #expect(same == true)
    }
  }

  @Test(arguments: [
    [], [0], [0, 0], [0xFF, 0xFE], [0, 0xC3, 0x28, 39, 92],
  ])
  func bytesComeBack(_ value: [UInt8]) throws {
    try withTable("v MEDIUMBLOB") { connection in
      _ = try connection.execute("INSERT INTO t VALUES (1, ?)", [.bytes(value)])
      let back = try connection.row("SELECT v FROM t") { row in row.bytes(0) }
      #expect(back == value)
    }
  }

  @Test(
    arguments: [
      (0, "1970-01-01 00:00:00.000"), (1, "1970-01-01 00:00:00.001"),
      (-1, "1969-12-31 23:59:59.999"), (951_782_399_999, "2000-02-28 23:59:59.999"),
      (951_868_799_000, "2000-02-29 23:59:59.000"), (1_709_164_800_000, "2024-02-29 00:00:00.000"),
      (1_709_251_200_123, "2024-03-01 00:00:00.123"),
      (4_107_542_400_000, "2100-03-01 00:00:00.000"),
      (2_147_483_648_000, "2038-01-19 03:14:08.000"),
      (-2_208_988_800_000, "1900-01-01 00:00:00.000"),
      (-11_676_096_000_000, "1600-01-01 00:00:00.000"),
      (253_402_300_799_999, "9999-12-31 23:59:59.999"),
    ] as [(Int64, String)])
  func anInstantIsStoredAsUTCAndComesBack(_ milliseconds: Int64, _ text: String) throws {
    try withTable("v DATETIME(3)") { connection in
      _ = try connection.execute(
        "INSERT INTO t VALUES (1, ?)", [.dateTime(milliseconds: milliseconds)])
      let back = try connection.row("SELECT v FROM t") { row in row.milliseconds(0) }
      #expect(back == milliseconds)
      let stored = try connection.row("SELECT CAST(v AS CHAR) FROM t") { row in row.text(0) }
      #expect(stored == text)
    }
  }

  @Test func everyDayOfFourCenturiesComesBack() throws {
    try withTable("v DATE") { connection in
      let wrong = try connection.rows(
        "SELECT seq, DATE '1970-01-01' + INTERVAL seq DAY FROM seq_0_to_146096"
      ) { row in row.integer(0) * 86_400_000 - row.milliseconds(1) }.filter { $0 != 0 }
      #expect(wrong == [])
      for day in stride(from: Int64(-700_000), to: 2_900_000, by: 4_999) {
        let milliseconds = day * 86_400_000 + 86_399_999
        let back = try connection.row(
          "SELECT CAST(? AS DATETIME(3)), DATE '1970-01-01' + INTERVAL ? DAY",
          [.dateTime(milliseconds: milliseconds), .integer(day)]
        ) { row in (row.milliseconds(0), row.milliseconds(1)) }
        #expect(back! == (milliseconds, day * 86_400_000))
      }
    }
  }

  @Test func theServerTimeIsUTC() throws {
    try withTable("v INT") { connection in
      let same = try connection.row("SELECT NOW(3) = UTC_TIMESTAMP(3), @@time_zone") { row in
        (row.boolean(0), row.text(1))
      }
      #expect(same! == (true, "+00:00"))
    }
  }

  @Test func aBooleanComesBack() throws {
    try withTable("v BOOLEAN") { connection in
      _ = try connection.execute("INSERT INTO t VALUES (1, ?), (2, ?)", [true, false])
      let back = try connection.rows("SELECT v FROM t ORDER BY id") { row in row.boolean(0) }
      #expect(back == [true, false])
    }
  }

  @Test func nullComesBackAndLeavesTheNextRowAlone() throws {
    let columns = "a BIGINT, b VARCHAR(9), c VARBINARY(9), d DATETIME(3), e BOOLEAN"
    try withTable(columns) { connection in
      for parameters in [
        [1, nil, nil, nil, nil, nil],
        [2, 7, "x", .bytes([8]), .dateTime(milliseconds: 9), true],
        [3, .integer(nil), .text(nil), .bytes(nil), nil, nil],
      ] as [[Parameter]] {
        _ = try connection.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", parameters)
      }
      let rows = try connection.rows("SELECT a, b, c, d, e FROM t ORDER BY id") { row in
        Optionals(
          integer: row.optionalInteger(0), text: row.optionalText(1), bytes: row.optionalBytes(2),
          milliseconds: row.isNull(3) ? nil : row.milliseconds(3), boolean: row.optionalBoolean(4),
          nulls: (0..<5).filter { row.isNull($0) })
      }
      let empty = Optionals(nulls: [0, 1, 2, 3, 4])
      let full = Optionals(
        integer: 7, text: "x", bytes: [8], milliseconds: 9, boolean: true, nulls: [])
      #expect(rows == [empty, full, empty])
    }
  }

  @Test func everyIntegerTypeIsReadAsAnInteger() throws {
    let columns = """
      a TINYINT, b SMALLINT, c MEDIUMINT, d INT, e INT UNSIGNED, f TINYINT UNSIGNED, g YEAR,
      h BIGINT UNSIGNED, i DECIMAL(20)
      """
    try withTable(columns) { connection in
      _ = try connection.execute(
        """
        INSERT INTO t
        VALUES (1, -128, -32768, -8388608, -2147483648, 4294967295, 255, 2026, ?, -12345678901234)
        """, [.integer(.max)])
      let back = try connection.row(
        "SELECT a, b, c, d, e, f, g, h, i, SUM(a), COUNT(*) FROM t"
      ) { row in (0..<11).map { row.integer($0) } }
      #expect(
        back == [
          -128, -32768, -8_388_608, -2_147_483_648, 4_294_967_295, 255, 2026, .max,
          -12_345_678_901_234, -128, 1,
        ])
    }
  }

  @Test func otherTypesAreReadAsText() throws {
    let columns = """
      a ENUM('yes', 'no'), b SET('x', 'y'), c CHAR(5), d DECIMAL(9, 2), e DOUBLE, f JSON, g TIME,
      h UUID, i BINARY(2)
      """
    try withTable(columns) { connection in
      _ = try connection.execute(
        """
        INSERT INTO t VALUES (1, 'no', 'x,y', 'é', 12.5, 0.25, '{"k": 1}', '12:34:56',
        '123e4567-e89b-42d3-a456-426655440000', '!!')
        """)
      let back = try connection.row("SELECT a, b, c, d, e, f, g, h, i FROM t") { row in
        (0..<9).map { row.text($0) }
      }
      #expect(
        back == [
          "no", "x,y", "é", "12.50", "0.25", #"{"k": 1}"#, "12:34:56",
          "123e4567-e89b-42d3-a456-426655440000", "!!",
        ])
    }
  }

  @Test func rowsOfVeryDifferentLengthsComeBack() throws {
    try withTable("v LONGTEXT, w LONGBLOB") { connection in
      let lengths = [0, 1000, 3, 200_000, 128, 129, 127, 0, 1_000_000, 5]
      for (id, length) in lengths.enumerated() {
        _ = try connection.execute(
          "INSERT INTO t VALUES (?, ?, ?)",
          [
            .integer(Int64(id)), .text(String(repeating: "é", count: length)),
            .bytes([UInt8](repeating: UInt8(id), count: length)),
          ])
      }
      let back = try connection.rows("SELECT v, id, w FROM t ORDER BY id") { row in
        row.text(0).allSatisfy { $0 == "é" } && row.bytes(2).allSatisfy { $0 == row.integer(1) }
          ? row.bytes(0).count / 2 + row.bytes(2).count : -1
      }
      #expect(back == lengths.map { $0 * 2 })
    }
  }

  @Test func aTypeThatChangesBetweenExecutionsIsReadAsItIs() throws {
    try withTable("v INT") { connection in
      var back: [String] = []
      for parameter in [5, "text", 6] as [Parameter] {
        let value = try connection.row("SELECT ?", [parameter]) { row in
          if case .integer = parameter { "\(row.integer(0))" } else { row.text(0) }
        }
        back.append(value!)
      }
      #expect(back == ["5", "text", "6"])
    }
  }
}

private struct Optionals: Equatable {
  var integer: Int64?
  var text: String?
  var bytes: [UInt8]?
  var milliseconds: Int64?
  var boolean: Bool?
  var nulls: [Int]
}

/// Calls `body` with a connection to a database with the table `t (id, …columns)`.
func withTable<T>(
  _ columns: String, _ body: (Connection) throws -> T
) throws -> T {
  try withDatabase(schema: table(columns)) { settings in
    let connection = try Connection(settings)
    return try body(connection)
  }
}

func table(_ columns: String) -> String {
  "CREATE TABLE t (id BIGINT PRIMARY KEY, \(columns)) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
}
