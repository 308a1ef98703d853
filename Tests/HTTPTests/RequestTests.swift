import HTTP
import Testing

@testable import HTTP

/// A request in a handler's view.
@Suite struct RequestTests {
  @Test func fieldsAreFoundByTheirWireName() {
    let request = Request(fields: [
      ("X-Device-Credential", "abc"), ("Content-Type", "text/plain"), ("x-long", "1"),
    ])
    #expect(request.field("X-Device-Credential") == "abc")
    #expect(request.field("x-device-CREDENTIAL") == "abc")
    #expect(request.field("Content-Type") == "text/plain")
    #expect(request.field("X-Device") == nil)
    #expect(request.field("X-Long") == "1")
    #expect(request.field("Long") == nil)
    #expect(request.field("Request-Method") == nil)
  }

  @Test func aRepeatedFieldHasItsFirstValueAndAll() {
    let request = Request(fields: [("Origin", ""), ("Other", "x"), ("origin", "b")])
    #expect(request.field("Origin") == "")
    #expect(request.fieldValues("Origin") == ["", "b"])
    #expect(request.fieldValues("Referer").isEmpty)
  }

  @Test func theWebServersLengthAndTypeAreNotHeadersOfTheClient() {
    var parameters = Parameters()
    for (name, value) in [
      ("REQUEST_METHOD", "GET"), ("HTTP_CONTENT_TYPE", "wrong"), ("CONTENT_TYPE", "right"),
    ] { parameters.append(name, value) }
    let request = Request(parameters, body: [], bodyDefect: nil)
    #expect(request?.field("content-type") == "right")
  }

  @Test func everythingElseIsAsGiven() {
    let request = Request(
      method: "PUT", path: "/a b", query: "x=1", body: [1, 2], remoteAddress: "::1",
      requestID: "id", requestURI: "/a%20b?x=1")
    #expect(request.method == "PUT")
    #expect(request.path == "/a b")
    #expect(request.query == "x=1")
    #expect(request.body == [1, 2])
    #expect(request.remoteAddress == "::1")
    #expect(request.requestID == "id")
    #expect(request.requestURI == "/a%20b?x=1")
    #expect(request.defect == nil)
  }

  @Test(arguments: [
    ("/a", "/a"), ("/a%20b+c?/d", "/a b+c"), ("/site", "/"), ("/site?x", "/"), ("/site/a", "/a"),
    ("/sites/a", "/sites/a"), ("/%73ite/a", "/a"), ("", "/program/rest"),
  ])
  func thePathOfTheTargetIsRoutedBelowTheBasePath(target: String, path: String) {
    var parameters = Parameters()
    for (name, value) in [
      ("REQUEST_METHOD", "GET"), ("SCRIPT_NAME", "/program"), ("PATH_INFO", "/rest"),
      ("REQUEST_URI", target),
    ] { parameters.append(name, value) }
    let paths = RequestPaths(source: .target, basePath: "/site")
    #expect(Request(parameters, body: [], bodyDefect: nil, paths: paths)?.path == path)
  }

  @Test(arguments: [("/api", "/v1", "/api/v1"), ("/api/v1", "", "/api/v1"), ("", "/v1", "/v1")])
  func thePathIsScriptNameAndPathInfoJoined(script: String, info: String, path: String) {
    var parameters = Parameters()
    for (name, value) in [
      ("REQUEST_METHOD", "GET"), ("SCRIPT_NAME", script), ("PATH_INFO", info),
    ] { parameters.append(name, value) }
    #expect(Request(parameters, body: [], bodyDefect: nil)?.path == path)
  }

  @Test(arguments: [
    "/a%2Fb", "/a%2fb", "/%2F", "/a%5Cb", "/a%5cb", "/a\\b", "/..", "/../a", "/a/..", "/a/../b",
    "/%2e%2e/a", "/.%2E/a", "..", "../a", "//", "/a//b", "//a", "/a//", "/a%00", "/%00b", "/a\0b",
  ])
  func aPathWithTwoReadingsIsADefect(target: String) {
    #expect(Request(path: "/", requestURI: target).defect == .ambiguousPath)
    #expect(Request(path: "/", requestURI: target + "?x").defect == .ambiguousPath)
    #expect(Request(path: target, requestURI: "").defect == .ambiguousPath)
  }

  @Test(arguments: [
    "/", "/a", "/a/", "/a/b", "/.", "/a/...", "/..a", "/a..", "/a..b", "/%41", "/a%", "/a%2", "*",
    "/a%252Fb", "/a?b//c", "/a?b%2F", "/a?../..", "/a?%00", "/é", "/%C3%A9",
  ])
  func otherPathsAreNone(target: String) {
    #expect(Request(path: "/", requestURI: target).defect == nil)
  }

  @Test(arguments: [
    ("a=1&b=2", "b", "2"), ("a=1&a=2", "a", "1"), ("a", "a", ""), ("a=", "a", ""),
    ("a=b=c", "a", "b=c"), ("a=x+y%20z", "a", "x y z"), ("%61=1", "a", "1"),
    ("a=%C3%A9", "a", "é"), ("a=100%", "a", "100%"), ("a=%zz%4", "a", "%zz%4"),
    ("&&a=1", "a", "1"), ("a=%26%3D", "a", "&="), ("a=%2B", "a", "+"),
  ])
  func aQueryItemIsDecodedAsAForm(query: String, name: String, value: String) {
    #expect(Request(query: query).queryItem(name) == value)
    let subrequest = Request(path: "/_auth", requestURI: "/ws?" + query)
    #expect(subrequest.requestURIQueryItem(name) == value)
  }

  @Test(arguments: ["", "b=1", "ab=1", "A=1", "=a"])
  func anAbsentQueryItemIsNil(query: String) {
    #expect(Request(query: query).queryItem("a") == nil)
    #expect(Request(path: "/_auth", requestURI: "/ws").requestURIQueryItem("a") == nil)
  }

  /// The web server may copy the id from a client's field.
  @Test(arguments: ["a\r\nX: y", "a\n", "a b", "ä", "\"", String(repeating: "a", count: 65)])
  func aRequestIDThatFitsNowhereIsNone(_ id: String) {
    #expect(Request(requestID: id).requestID == "")
    let other = "0-9._aZ" + String(repeating: "b", count: 57)
    #expect(Request(requestID: other).requestID == other)
  }

  @Test(arguments: [
    ("/ws", "/ws"), ("/%77s?token=%77", "/ws"), ("/base/w%73", "/ws"), ("/base", "/"),
    ("/based", "/based"), ("", ""), ("?x", ""),
  ])
  func theTargetIsReadAsThePathIs(target: String, path: String) throws {
    var parameters = Parameters()
    parameters.append("REQUEST_METHOD", "PUT")
    parameters.append("REQUEST_URI", target)
    let paths = RequestPaths(basePath: "/base")
    let asked = try #require(Request(authorizing: parameters, paths: paths))
    #expect(asked.targetPath == path)
    #expect(asked.method == "GET" && asked.guardedMethod == "PUT")
    parameters.append("GUARDED_METHOD", "POST")
    let request = try #require(Request(parameters, body: [], bodyDefect: nil, paths: paths))
    #expect(request.targetPath == path)
    #expect(request.method == "PUT" && request.guardedMethod == "POST")
  }
}
