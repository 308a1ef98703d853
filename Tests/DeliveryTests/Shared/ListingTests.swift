import Base
import Foundation
import Store
import Testing

@testable import Administration

/// The form of administrators' lists: a table, and JSON. No database is needed.
@Suite struct ListingTests {
  private typealias Value = Listing.Value

  private static let columns: [StaticString] = [
    "text", "last_used_at", "at_home", "count", "is_on", "words",
  ]

  /// A row with all values, and one with none.
  private static let rows: [[Value]] = [
    [
      .text("a\u{7}b"), .time(Timestamp(seconds: 1)), .text("c"), .number(0), .flag(true),
      .words(["x", "y"]),
    ],
    [.text(nil), .time(nil), .text(""), .number(nil), .flag(false), .words([])],
  ]

  private func listing(_ name: StaticString, isMore: Bool) -> Listing {
    Listing(name, Self.columns, of: Self.rows, isMore: isMore) { $0 }
  }

  @Test func aListIsATableInWhichADashIsNothing() {
    let lines = [
      "TEXT  LAST USED             AT HOME  COUNT  IS ON  WORDS",
      "a·b   1970-01-01T00:00:01Z  c        0      yes    x y",
      "-     -                              -      no     -",
    ]
    #expect(
      Report(listing("one", isMore: false)).text.split(separator: "\n").map(String.init) == lines)
    let more = Report(listing("one", isMore: true), listing("two", isMore: false))
    #expect(
      more.text
        == (lines + ["There are more: --limit shows more of them.", ""] + lines)
        .joined(separator: "\n"))
  }

  @Test func aListIsAnArrayOfObjects() throws {
    let report = Report(listing("one", isMore: false), listing("two", isMore: true))
    let rows =
      #"[{"text":"a\u0007b","last_used_at":"1970-01-01T00:00:01Z","at_home":"c","count":0,"is_on":true,"words":["x","y"]},"#
      + #"{"text":null,"last_used_at":null,"at_home":"","count":null,"is_on":false,"words":[]}]"#
    #expect(
      String(decoding: report.json, as: UTF8.self)
        == #"{"one":\#(rows),"two":\#(rows),"is_more":true}"#)
    let whole = try object(of: Report(listing("one", isMore: false), listing("two", isMore: false)))
    #expect(whole["is_more"] as? Bool == false)
  }

  @Test(arguments: [(16, ""), (17, "…"), (64, "…")])
  func aLongTokenIsCut(length: Int, mark: String) {
    let token = String(repeating: "a", count: length)
    #expect(token.tokenPreview == String(repeating: "a", count: 16) + mark)
  }

  @Test(arguments: [
    (-5, "0 seconds"), (0, "0 seconds"), (1, "1 second"), (119, "119 seconds"), (120, "2 minutes"),
    (7_199, "119 minutes"), (7_200, "2 hours"), (172_799, "47 hours"), (172_800, "2 days"),
    (259_199, "2 days"), (259_200, "3 days"),
  ])
  func aTimeIsSaidInOneUnit(seconds: Int, words: String) {
    let begin = Timestamp(seconds: 1000)
    #expect(begin.span(to: begin + .seconds(seconds)) == words)
  }

  /// Only an unknown reason is explained by its status.
  @Test(arguments: [
    (410, "Other", "No app has this token any more"), (499, "Other", "The refusal is final."),
    (500, "Other", "Apple has a temporary problem."),
    (503, "BadTopic", "Apple does not take notifications"),
  ])
  func aRefusalIsExplained(status: Int, reason: String, words: String) {
    #expect(PushService(behind: .apns).advice(onStatus: Int64(status), reason).hasPrefix(words))
  }
}
