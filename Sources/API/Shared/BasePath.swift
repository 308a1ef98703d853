import HTTP

extension Response {
  /// This answer for a site below `basePath`: adds `basePath` to each link of a page and each redirect that starts with `/`.
  ///
  /// - Parameter basePath: See ``Settings/basePath``; empty if the site uses the whole host.
  func placed(below basePath: String) -> Response {
    guard !basePath.isEmpty else { return self }
    var response = self
    for index in fields.indices {
      switch fields[index].name {
      case "Location" where fields[index].value.hasPrefix("/"):
        response.fields[index].value = basePath + fields[index].value
      case "Refresh":
        response.fields[index].value = fields[index].value.replacing(
          "url=/", with: "url=\(basePath)/")
      case "Content-Type" where fields[index].value.hasPrefix("text/html"):
        response.body = Array(String(decoding: body, as: UTF8.self).links(below: basePath).utf8)
      default: break
      }
    }
    return response
  }
}

extension String {
  /// This page with links below `basePath`. Text from people is escaped, so only our own tags have these quotation marks.
  fileprivate func links(below basePath: String) -> String {
    ["href", "src", "action"].reduce(self) { page, name in
      page.replacing("\(name)=\"/", with: "\(name)=\"\(basePath)/")
    }
  }
}
