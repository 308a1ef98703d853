package import Foundation

/// A headless Chromium with one page, driven by the DevTools protocol over a pipe: NUL-terminated
/// JSON on its descriptors 3 and 4. Chromium ends when this object is released.
package final class Browser {
  package struct Failure: Error {
    let what: String
  }

  private let pid: pid_t
  private let pipe: FileHandle
  private let folder: String
  private var received = Data()
  private var events: [[String: Any]] = []
  private var lastID = 0
  private var session: String?

  /// - Parameter size: the size of the window, in pixels.
  package init(size: (width: Int, height: Int)) throws {
    folder = makeTemporaryFolder()
    // Chromium has no sandbox when it runs as root.
    let script = """
      exec chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
        --no-first-run --user-data-dir="$1" --window-size=\(size.width),\(size.height) \
        --remote-debugging-pipe about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1
      """
    (pid, pipe) = spawn(path(of: "sh"), ["-c", script, "sh", folder])
    let target = try call("Target.createTarget", ["url": "about:blank"])["targetId"]
    let attached = try call(
      "Target.attachToTarget", ["targetId": target as? String ?? "", "flatten": true])
    session = attached["sessionId"] as? String
    for domain in ["Page", "DOM", "CSS", "Log", "Network"] { try call("\(domain).enable") }
  }

  deinit {
    try? pipe.close()
    _ = awaitStatus(of: pid)
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Calls a method of the protocol and returns its result.
  @discardableResult
  package func call(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
    lastID += 1
    let id = lastID
    var message: [String: Any] = ["id": id, "method": method, "params": parameters]
    message["sessionId"] = session
    try pipe.write(contentsOf: JSONSerialization.data(withJSONObject: message) + [0])
    while true {
      let answer = try next()
      if answer["id"] as? Int == id {
        guard let result = answer["result"] as? [String: Any] else {
          throw Failure(what: "\(method): \(answer)")
        }
        return result
      }
      events.append(answer)
    }
  }

  /// Calls `action` and waits for an event that arrives after this call began.
  package func awaiting(_ name: String, _ action: () throws -> Void) throws {
    let before = events.count
    try action()
    while !events.dropFirst(before).contains(where: { $0["method"] as? String == name }) {
      events.append(try next())
    }
  }

  /// The parameters of all events of this name so far.
  package func parameters(of name: String) -> [[String: Any]] {
    events.filter { $0["method"] as? String == name }.compactMap { $0["params"] as? [String: Any] }
  }

  private func next() throws -> [String: Any] {
    while true {
      if let end = received.firstIndex(of: 0) {
        let message = received[received.startIndex..<end]
        received.removeSubrange(received.startIndex...end)
        return try JSONSerialization.jsonObject(with: message) as? [String: Any] ?? [:]
      }
      let data = waiting(for: "the browser") { pipe.availableData }
      guard !data.isEmpty else { throw Failure(what: "the browser has ended") }
      received += data
    }
  }
}

extension Browser {
  /// Opens an address and waits until the whole page is loaded.
  package func open(_ url: String) throws {
    try awaiting("Page.loadEventFired") { try call("Page.navigate", ["url": url]) }
  }

  /// The node that matches a selector.
  package func node(_ selector: String) throws -> Int {
    let root = try call("DOM.getDocument")["root"] as? [String: Any]
    let found = try call(
      "DOM.querySelector", ["nodeId": root?["nodeId"] as? Int ?? 0, "selector": selector])
    guard let node = found["nodeId"] as? Int, node != 0 else {
      throw Failure(what: "no \(selector)")
    }
    return node
  }

  /// A property of a node's computed style.
  package func style(_ property: String, of selector: String) throws -> String? {
    let computed = try call("CSS.getComputedStyleForNode", ["nodeId": node(selector)])
    let all = computed["computedStyle"] as? [[String: String]] ?? []
    return all.first { $0["name"] == property }?["value"]
  }

  /// Left, top, right and bottom of a node, in pixels.
  package func box(of selector: String) throws -> [Double] {
    let model = try call("DOM.getBoxModel", ["nodeId": node(selector)])["model"] as? [String: Any]
    let corners = model?["border"] as? [Double] ?? []
    guard corners.count == 8 else { throw Failure(what: "no box of \(selector)") }
    return [corners[0], corners[1], corners[4], corners[5]]
  }

  package func click(_ selector: String) throws {
    try call("DOM.scrollIntoViewIfNeeded", ["nodeId": node(selector)])
    let box = try box(of: selector)
    for type in ["mousePressed", "mouseReleased"] {
      try call(
        "Input.dispatchMouseEvent",
        [
          "type": type, "x": (box[0] + box[2]) / 2, "y": (box[1] + box[3]) / 2, "button": "left",
          "clickCount": 1,
        ])
    }
  }

  package func press(_ key: String, code: Int, text: String? = nil) throws {
    for type in ["keyDown", "keyUp"] {
      var parameters: [String: Any] = [
        "type": type, "key": key, "code": key, "windowsVirtualKeyCode": code,
      ]
      if type == "keyDown" { parameters["text"] = text }
      try call("Input.dispatchKeyEvent", parameters)
    }
  }

  /// The text with which a JavaScript promise on the page resolves.
  package func text(of promise: String) throws -> String {
    let answer = try call(
      "Runtime.evaluate",
      ["expression": promise, "awaitPromise": true, "returnByValue": true, "userGesture": true])
    guard let text = (answer["result"] as? [String: Any])?["value"] as? String else {
      throw Failure(what: "\(answer)")
    }
    return text
  }

  /// The visible part of the page, as a PNG.
  package func screenshot() throws -> Data {
    let data = try call("Page.captureScreenshot")["data"] as? String
    guard let picture = data.flatMap({ Data(base64Encoded: $0) }) else {
      throw Failure(what: "no picture")
    }
    return picture
  }
}
