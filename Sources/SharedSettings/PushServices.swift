import Base
package import ProcessSupport
package import Store

extension Environment {
  /// The push services of browsers: the built-in list and the hosts of `WEBPUSH_HOSTS`.
  package mutating func pushServices() -> PushServices {
    let name = "WEBPUSH_HOSTS"
    let more = (optional(name) ?? "").split(separator: ",").map { String($0).trimmed }
    guard more.allSatisfy(PushServices.isEntry) else {
      complain(
        about: name,
        "must be hosts, host, host:port or *.host, in small letters, separated by commas")
      return PushServices()
    }
    return PushServices(more: more)
  }
}
