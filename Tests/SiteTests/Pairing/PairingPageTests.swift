import Foundation
import Support
import Testing

/// The page at `/pair` in a browser without scripts.
@Suite(.serialized) struct PairingPageTests {
  private func withPage(_ body: (Site, Browser) throws -> Void) async throws {
    try await withSite { site in
      let browser = try Browser(size: (720, 1000))
      try browser.call("Emulation.setScriptExecutionDisabled", ["value": true])
      try browser.open("\(site.url)/pair")
      try body(site, browser)
      // The page's Content Security Policy blocked nothing, and every request went to the site.
      let complaints = browser.parameters(of: "Log.entryAdded").map { "\($0)" }
      #expect(complaints == [])
      let urls = browser.parameters(of: "Network.requestWillBeSent").compactMap {
        ($0["request"] as? [String: Any])?["url"] as? String
      }
      #expect(urls.contains("\(site.url)/api/pair/qr?size=512"))
      #expect(
        urls.allSatisfy { $0.hasPrefix(site.url) || $0.hasPrefix("data:image/svg") }, "\(urls)")
      #expect(!urls.contains { $0.contains("favicon.ico") })
    }
  }

  /// The token in the QR code on the screen.
  private func token(on browser: Browser) throws -> String? {
    let read = try qrContents(of: [browser.screenshot()]).joined()
    return read.firstMatch(of: /"token":"([^"]+)"/).map { String($0.1) }
  }

  @Test(arguments: [("light", "rgb(255, 255, 255)"), ("dark", "rgb(23, 25, 35)")])
  func theCodeCanBeScannedFromTheScreen(_ scheme: String, _ ground: String) async throws {
    try await withPage { site, browser in
      try browser.call(
        "Emulation.setEmulatedMedia",
        ["features": [["name": "prefers-color-scheme", "value": scheme]]])
      #expect(try browser.style("background-color", of: "body") == ground)
      #expect(try token(on: browser) == site.pairingToken())
    }
  }

  @Test func thePageFitsAPhone() async throws {
    try await withPage { site, browser in
      try browser.call(
        "Emulation.setDeviceMetricsOverride",
        ["width": 320, "height": 700, "deviceScaleFactor": 2, "mobile": true])
      for selector in ["img", "dl", "button"] {
        let box = try browser.box(of: selector)
        #expect(box[0] >= 0 && box[2] <= 320, "\(selector): \(box)")
      }
      #expect(try token(on: browser) == site.pairingToken())
    }
  }

  @Test func theButtonWorksByMouse() async throws {
    try await withPage { site, browser in
      let before = try site.pairingToken()
      try browser.awaiting("Page.loadEventFired") { try browser.click("button") }
      let after = try site.pairingToken()
      #expect(after != before)
      #expect(try token(on: browser) == after)
    }
  }

  @Test func theButtonWorksByKeyboardAndShowsItsFocus() async throws {
    try await withPage { site, browser in
      let before = try site.pairingToken()
      #expect(try browser.style("outline-style", of: "button") == "none")
      try browser.press("Tab", code: 9)
      #expect(try browser.style("outline-style", of: "button") == "solid")
      try browser.awaiting("Page.loadEventFired") {
        try browser.press("Enter", code: 13, text: "\r")
      }
      let after = try site.pairingToken()
      #expect(after != before)
      #expect(try token(on: browser) == after)
    }
  }
}
