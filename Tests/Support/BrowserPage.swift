import Foundation

/// Actions of a person in a browser, and the result on the page.
extension Browser {
  /// Types into the field with the focus and replaces the selected text.
  package func type(_ text: String) throws { try call("Input.insertText", ["text": text]) }

  /// The current page as HTML.
  package func html() throws -> String {
    try call("DOM.getOuterHTML", ["nodeId": node("html")])["outerHTML"] as? String ?? ""
  }

  /// Shows pages in the color scheme `light` or `dark`, on a screen of `width` pixels.
  package func show(_ scheme: String, width: Int) throws {
    try call(
      "Emulation.setEmulatedMedia",
      ["features": [["name": "prefers-color-scheme", "value": scheme]]])
    try call(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": 700, "deviceScaleFactor": 1, "mobile": false])
  }

  /// Adds an authenticator that stores passkeys and verifies its user.
  package func addAuthenticator() throws {
    try call("WebAuthn.enable")
    try call(
      "WebAuthn.addVirtualAuthenticator",
      [
        "options": [
          "protocol": "ctap2", "transport": "internal", "hasResidentKey": true,
          "hasUserVerification": true, "isUserVerified": true,
        ]
      ])
  }

  /// The problems that axe-core finds on the page, as a JSON array; `axe` is the source of
  /// axe-core.
  package func violations(by axe: String) throws -> String {
    try call("Runtime.evaluate", ["expression": axe])
    return try text(
      of: """
        axe.run(document, {resultTypes: ["violations"]}).then(found => JSON.stringify(
          found.violations.map(one => [one.id, one.nodes.map(node => node.html)])))
        """)
  }
}

/// The source of axe-core, which finds barriers for people with disabilities. `Tests/run` fetches
/// it.
package func axeSource() throws -> String {
  try String(
    contentsOf: projectFolder.appending(path: ".build/axe/axe_playwright_python/axe.min.js"),
    encoding: .utf8)
}
