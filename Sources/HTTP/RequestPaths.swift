/// The variables that hold the path of a request, and the base path of the site.
package struct RequestPaths: Sendable {
  package enum Source: Sendable {
    /// `SCRIPT_NAME` and `PATH_INFO` joined: the web server has decoded and routed the path.
    case script
    /// `REQUEST_URI` if it is set: `SCRIPT_NAME` may be the path of a CGI program.
    case target
  }

  private let source: Source
  private let basePath: String

  /// - Parameter basePath: A path without a slash at the end, such as `/switchboard`. It is removed from the
  ///   start of each path.
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

  /// The path of `REQUEST_URI`, percent-decoded and without the base path; nil if there is no path.
  func targetPath(of parameters: Parameters) -> String? {
    let path = parameters.value("REQUEST_URI") { target in
      Request.decoded(target.prefix { $0 != UInt8(ascii: "?") }, isForm: false)
    }
    return path.flatMap { $0.isEmpty ? nil : belowBase($0) }
  }
}
