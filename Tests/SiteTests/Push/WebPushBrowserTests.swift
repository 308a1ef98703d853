import Cryptography
import Foundation
import Support
import Testing

/// The whole way of a notification into a browser.
///
/// Real parts: the page's calls through nginx with CORS, responder, companion and its TLS
/// connection, the service worker and its push event, the browser's own cryptography (WebCrypto),
/// and the visible notification. The push service is a fake, and the test carries its messages to
/// the browser by the DevTools protocol. Chromium's `pushManager.subscribe` needs servers of Google
/// and waits forever without them. Therefore the page makes its keys itself, and its worker
/// decrypts (RFC 8291).
@Suite(.serialized) struct WebPushBrowserTests {
  @Test func aBrowserShowsWhatTheCompanionSent() async throws {
    let folder = makeTemporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let key = Site.run(
      [builtProgram("switchboard-companion").path(), "keys", "vapid", "\(folder)/vapid-key"]
    ).output.trimmed
    try #require(base64URLDecoded(key)?.count == 65, "\(key)")
    let service = try FakePushService(applicationServerKey: key)
    let page = WebPage(scripts: ["/worker.js": WebPushPage.worker])
    defer {
      service.end()
      page.end()
    }
    let environment = [
      "SWITCHBOARD_ALLOWED_ORIGINS": page.origin, "WEBPUSH_VAPID_PUBLIC_KEY": key,
      "WEBPUSH_VAPID_KEY_FILE": "\(folder)/vapid-key", "WEBPUSH_HOSTS": service.host,
      "WEBPUSH_CA_CERT": service.certificatesFile, "SWITCHBOARD_ADMINISTRATOR": "admin@example.org",
    ]
    try await withSite(environment: environment) { site in
      let ann = try site.signUp()
      try site.confirm(ann, "yes")
      let browser = try Browser(size: (400, 400))
      let registration = try subscribe(browser, page, ann, at: site, service, key)
      try addPasskey(of: ann, on: site)
      wait(for: "a notification at the push service") { !service.accepted.isEmpty }
      let message = try #require(service.accepted.first)
      let body = base64URLEncoded(message.body)
      #expect(!String(decoding: message.body, as: UTF8.self).contains("passkey"))
      var shown = "nothing"
      // On a busy machine the worker may start too late for the first attempt.
      for _ in 1...3 where shown == "nothing" {
        try browser.call(
          "ServiceWorker.deliverPushMessage",
          ["origin": page.origin, "registrationId": registration, "data": body])
        shown = try browser.text(of: WebPushPage.shown)
      }
      #expect(shown.contains("passkey"), "\(shown)")
    }
  }

  /// - Returns: the id of the page's service worker.
  private func subscribe(
    _ browser: Browser, _ page: WebPage, _ ann: Person, at site: Site, _ service: FakePushService,
    _ key: String
  ) throws -> String {
    try browser.call("ServiceWorker.enable")
    try browser.call(
      "Browser.grantPermissions", ["origin": page.origin, "permissions": ["notifications"]])
    try browser.open(page.origin)
    let answer = try browser.text(
      of: WebPushPage.subscribe(
        at: site.url, endpoint: service.endpoint("ann"), token: ann.token, username: ann.email))
    #expect(answer.hasPrefix(#"\#(key) 200 {"success":true,"token":"web:"#), "\(answer)")
    let events = browser.parameters(of: "ServiceWorker.workerRegistrationUpdated")
    let registrations = events.compactMap { $0["registrations"] as? [[String: Any]] }.joined()
    return try #require(registrations.last?["registrationId"] as? String)
  }

  /// Adds a passkey, which causes a notification to the owner.
  private func addPasskey(of person: Person, on site: Site) throws {
    let authenticator = Authenticator(partyID: "127.0.0.1", origin: site.url)
    let options = site.post("/api/mobile/auth/passkey/register/options", "{}", person.bearer)
    let created = authenticator.created(answering: try options.string("challenge"))
    let body = try JSONSerialization.data(withJSONObject: ["credential": created])
    let added = site.post(
      "/api/mobile/auth/passkey/register/verify", String(decoding: body, as: UTF8.self),
      person.bearer)
    try #require(added.status == 200, "\(added.body)")
  }
}
