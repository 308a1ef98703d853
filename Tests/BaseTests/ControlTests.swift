import Base
import Testing

@Suite struct ControlTests {
  @Test(arguments: [
    "\u{0}", "\t", "\n", "\u{1B}", "\u{1F}", "\u{7F}", "\u{80}", "\u{9B}", "\u{9F}", "\u{202A}",
    "\u{202E}", "\u{2066}", "\u{2069}",
  ])
  func aControlCharacterIsReplaced(control: String) {
    #expect("a\(control)b".hasControls)
    #expect("a\(control)b\(control)".withoutControls == "a\u{FFFD}b\u{FFFD}")
  }

  @Test(arguments: [
    ("a", true, "a"), ("\u{200F}", false, ""), (" \u{3164}\u{2028}", false, ""), ("", false, ""),
    ("a\u{200F}b\u{2028}", true, "ab"), (" a\tb ", true, "ab"), ("a b", true, "a b"),
    ("\u{301}", true, "\u{301}"), ("ᄀ\u{1160}", true, "ᄀ"), ("👩\u{200D}👧", true, "👩\u{200D}👧"),
  ])
  func charactersThatCannotBeShownAreDropped(text: String, isVisible: Bool, shown: String) {
    #expect(text.isVisible == isVisible)
    #expect(text.withoutInvisible == shown)
  }

  /// Neighbors of the ranges, direction marks that right-to-left names need, and joined characters.
  @Test(arguments: [
    "", " ~", "\u{A0}", "\u{2029}\u{202F}", "\u{2065}\u{206A}", "\u{200E}\u{200F}", "é", "אב", "👩‍👧",
  ])
  func otherTextStays(text: String) {
    #expect(!text.hasControls)
    #expect(text.withoutControls == text)
  }
}
