/// Where the path of a request is found, and below which path the site lies.
package struct RequestPaths: Sendable {
  package enum Source: Sendable {
    /// `SCRIPT_NAME` and `PATH_INFO` joined: the web server has decoded and routed the path.
    case script
    /// `REQUEST_URI`, where there is one: `SCRIPT_NAME` may be the path of a CGI program.
    case target
  }

  private let source: Source
  private let basePath: String

  /// - Parameter basePath: Without a slash at the end, such as `/switchboard`; taken off each path that begins with it.
  package init(source: Source = .script, basePath: String = "") {
    self.source = source
    self.basePath = basePath
  }

  /// The path of the request that `parameters` describe, percent-decoded.
  func path(of parameters: Parameters) -> String {
    let target = source == .target ? targetPath(of: parameters) : nil
    return target ?? belowBase(scriptPath(of: parameters))
  }

  private func belowBase(_ whole: String) -> String {
    guard !basePath.isEmpty, whole.hasPrefix(basePath) else { return whole }
    let rest = whole.dropFirst(basePath.count)
    if rest.isEmpty { return "/" }
    return rest.hasPrefix("/") ? String(rest) : whole
  }

  private func scriptPath(of parameters: Parameters) -> String {
    let script = parameters.text("SCRIPT_NAME") ?? ""
    let info = parameters.text("PATH_INFO") ?? ""
    return info.isEmpty ? script : script + info
  }

  /// The path of `REQUEST_URI`, percent-decoded; nil if it has none.
  func targetPath(of parameters: Parameters) -> String? {
    let path = parameters.value("REQUEST_URI") { target in
      Request.decoded(target.prefix { $0 != UInt8(ascii: "?") }, isForm: false)
    }
    return path.flatMap { $0.isEmpty ? nil : belowBase($0) }
  }
}
