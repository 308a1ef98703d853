import Foundation
import Support
import Testing

/// Sign-ins at `/account` with a passkey, in a browser with a virtual authenticator.
@Suite(.serialized) struct PasskeyPageTests {
  /// Opens a browser whose authenticator holds a passkey of an account. No user is present until
  /// ``setPresence(_:of:in:)``; until then a conditional request waits, like for a person who has
  /// not chosen yet.
  private func withPasskey(
    _ body: (Site, Browser, _ authenticator: String) throws -> Void
  ) async throws {
    // Passkeys work on `localhost` without https.
    try await withSite(host: "localhost") { site in
      let browser = try Browser(size: (900, 1000))
      let person = try site.signUp()
      try site.confirm(person, "yes")
      try browser.call("WebAuthn.enable")
      let added = try browser.call(
        "WebAuthn.addVirtualAuthenticator",
        [
          "options": [
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": true,
            "hasUserVerification": true, "isUserVerified": true,
          ]
        ])
      let authenticator = try #require(added["authenticatorId"] as? String)
      // The page at / makes no passkey request of its own.
      try browser.open("\(site.url)/")
      let options = site.post("/api/mobile/auth/passkey/register/options", "{}", person.bearer)
      let created = try browser.text(
        of: """
          navigator.credentials.create({publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(\(options.body))})
            .then(created => JSON.stringify(created))
          """)
      let answer = site.post(
        "/api/mobile/auth/passkey/register/verify", #"{"credential":\#(created)}"#, person.bearer)
      try #require(answer.status == 200, "\(answer.body)")
      try setPresence(false, of: authenticator, in: browser)
      try note(in: browser)
      try body(site, browser, authenticator)
      let complaints = browser.parameters(of: "Log.entryAdded").map { "\($0)" }
      #expect(complaints.filter { $0.contains("Content Security Policy") } == [])
    }
  }

  private func setPresence(
    _ isPresent: Bool, of authenticator: String, in browser: Browser
  ) throws {
    try browser.call(
      "WebAuthn.setAutomaticPresenceSimulation",
      ["authenticatorId": authenticator, "enabled": isPresent])
  }

  /// Makes pages note their requests for passkeys.
  private func note(in browser: Browser) throws {
    try browser.call(
      "Page.addScriptToEvaluateOnNewDocument",
      [
        "source": """
        const get = navigator.credentials.get.bind(navigator.credentials);
        const note = (word) => {
          sessionStorage.notes = (sessionStorage.notes ?? "") + word + " ";
        };
        navigator.credentials.get = (options) => {
          note(options.mediation);
          options.signal.addEventListener("abort", () => note("aborted"));
          return get(options);
        };
        """
      ])
  }

  private func notes(in browser: Browser) throws -> String {
    try browser.text(of: "Promise.resolve(sessionStorage.notes ?? '')")
  }

  /// Whether a page that is loaded whole says so: a later page's load must not be taken for this one's.
  private func isSignedIn(_ browser: Browser) -> Bool {
    // try?: between two pages there is no document.
    (try? browser.html().contains("Signed in as")) == true
      && (try? browser.text(of: "Promise.resolve(document.readyState)")) == "complete"
  }

  @Test(arguments: ["keyboard", "mouse"])
  func onePressSignsIn(by hand: String) async throws {
    try await withPasskey { site, browser, authenticator in
      // Holds the request of the button until `go()`. Presence is set between the two requests: the
      // authenticator looks at it only when a request begins.
      try browser.call(
        "Page.addScriptToEvaluateOnNewDocument",
        [
          "source": """
          const request = navigator.credentials.get;
          navigator.credentials.get = (options) => options.mediation == "conditional"
            ? request(options)
            : new Promise((begin) => { window.go = begin; }).then(() => request(options));
          """
        ])
      try browser.open("\(site.url)/account")
      try wait(for: "the request for a passkey") { try notes(in: browser) == "conditional " }
      try browser.awaiting("Page.loadEventFired") {
        if hand == "mouse" {
          try browser.click("#passkey button")
        } else {
          for _ in 1...3 { try browser.press("Tab", code: 9) }
          #expect(try browser.style("outline-style", of: "#passkey button") == "solid")
          try browser.press("Enter", code: 13, text: "\r")
        }
        try wait(for: "the end of the request for a passkey") {
          try notes(in: browser) == "conditional aborted "
        }
        try setPresence(true, of: authenticator, in: browser)
        _ = try browser.text(of: "new Promise((done) => { setTimeout(go); done(''); })")
      }
      #expect(isSignedIn(browser))
      #expect(try notes(in: browser) == "conditional aborted optional ")
      #expect(try site.sql("SELECT uses FROM passkeys").trimmed == "1")
      #expect(try site.sql("SELECT COUNT(*) FROM account_visits").trimmed == "1")
    }
  }

  @Test func theFieldOffersThePasskeyByItself() async throws {
    try await withPasskey { site, browser, authenticator in
      // The user chooses the passkey that the field offers.
      try setPresence(true, of: authenticator, in: browser)
      try browser.open("\(site.url)/account")
      wait(for: "the sign-in") { isSignedIn(browser) }
      #expect(try notes(in: browser) == "conditional ")
      #expect(try site.sql("SELECT uses FROM passkeys").trimmed == "1")
    }
  }

  /// A browser without conditional mediation makes no request before the button is pressed.
  @Test func withoutConditionalMediationTheButtonSignsIn() async throws {
    try await withPasskey { site, browser, authenticator in
      try browser.call(
        "Page.addScriptToEvaluateOnNewDocument",
        ["source": "delete PublicKeyCredential.isConditionalMediationAvailable;"])
      try setPresence(true, of: authenticator, in: browser)
      try browser.open("\(site.url)/account")
      #expect(try site.sql("SELECT COUNT(*) FROM account_visits").trimmed == "0")
      try browser.awaiting("Page.loadEventFired") { try browser.click("#passkey button") }
      #expect(isSignedIn(browser))
      #expect(try notes(in: browser) == "optional ")
    }
  }

  /// A code requested during the offer stays valid in spite of the passkey's visit.
  @Test func aMailedCodeWorksBesideTheOffer() async throws {
    try await withPasskey { site, browser, _ in
      try browser.open("\(site.url)/account")
      try wait(for: "the request for a passkey") { try notes(in: browser) == "conditional " }
      try browser.click("#email")
      try browser.type("ann@example.org")
      try browser.awaiting("Page.loadEventFired") {
        try browser.click("form[action='/account/code'] button")
      }
      #expect(try browser.html().contains("Type the code"))
      try wait(for: "a mail with a code") { try site.mailedCode(to: "ann@example.org") != nil }
      let code = try #require(try site.mailedCode(to: "ann@example.org"))
      try browser.click("#code")
      try browser.type(code)
      try browser.awaiting("Page.loadEventFired") {
        try browser.click("form[action='/account/sign-in'] button")
      }
      #expect(isSignedIn(browser))
    }
  }

  /// A signed-in person stays signed in until the button is pressed.
  @Test func aPageThatAsksToSignInAgainSignsNobodyOut() async throws {
    try await withPasskey { site, browser, authenticator in
      try setPresence(true, of: authenticator, in: browser)
      try browser.open("\(site.url)/account")
      wait(for: "the sign-in") { isSignedIn(browser) }
      _ = try site.sql("UPDATE account_visits SET proved_at = proved_at - INTERVAL 1 HOUR")
      try browser.open("\(site.url)/account/delete")
      #expect(try notes(in: browser) == "conditional ")
      let before = try site.sql("SELECT HEX(id) FROM account_visits")
      try browser.open("\(site.url)/account")
      #expect(isSignedIn(browser))
      #expect(try site.sql("SELECT HEX(id) FROM account_visits") == before)
      try browser.open("\(site.url)/account/delete")
      try browser.awaiting("Page.loadEventFired") { try browser.click("#passkey button") }
      #expect(isSignedIn(browser))
      #expect(try site.sql("SELECT uses FROM passkeys").trimmed == "2")
    }
  }

  @Test func aPersonWhoRefusesIsToldWhatToDo() async throws {
    try await withPasskey { site, browser, _ in
      try browser.open("\(site.url)/account")
      try wait(for: "the request for a passkey") { try notes(in: browser) == "conditional " }
      try browser.call("WebAuthn.disable")
      _ = try browser.text(
        of: """
          (navigator.credentials.get = () => Promise.reject(new Error("no")), Promise.resolve(""))
          """)
      try browser.click("#passkey button")
      try wait(for: "the sentence about the refused passkey") {
        try browser.text(
          of: "Promise.resolve(document.getElementById('passkey-error').textContent)")
          == "Your browser gave no passkey. Try again, or take a code."
      }
    }
  }
}
