/// Invalid endpoints of push services, or endpoints that some URL parser resolves to another host.
///
/// - Parameter port: a port on which this machine listens.
package func misleadingEndpoints(port: UInt16) -> [String] {
  let place = "localhost:\(port)/push/a"
  let service = "https://fcm.googleapis.com"
  let between = [
    #"\@"#, #"\\@"#, #"/\@"#, #":443\@"#, #"\.@"#, "@", ":443@", ":@", ":x@", "%5c@", "%5C@", "%40",
    "%2f@", "%00@", "%23@", "#@", "?@", ";@", ",", "&@", "\t@", "\n@", "\r\n@", " @", " ", "\u{0}@",
    "\u{B}@", "\u{7F}@", "/\t@", "\u{FF03}@", "\u{FF0F}@", "\u{FF20}", "\u{2044}@", "[@", "]@",
    "^@", "|@", "`@", "\"@", "<@", "{@", ":443:443@",
  ].map { "\(service)\($0)\(place)" }
  let numbers = [
    "127.0.0.1", "2130706433", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "127.1", "127.0.1",
    "0", "0.0.0.0", "localhost", "localhost.", "127.0.0.1.", "[::1]", "[::]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[::127.0.0.1]", "[::1%25lo]", "127\u{3002}0\u{3002}0\u{3002}1",
    "127\u{FF0E}0\u{FF0E}0\u{FF0E}1", "\u{24DB}ocalhost", "local\u{AD}host",
    "\u{FF11}27.0.0.1", "fcm.googleapis.com.localhost", "[fcm.googleapis.com]",
  ].map { "https://\($0):\(port)/push/a" }
  let suffixes = [#"\"#, "#", "?", "/", "%5c", "%2f", "%23", "%00", "\t", " "].map {
    "https://localhost:\(port)\($0).notify.windows.com/push/a"
  }
  let spellings = [
    #"https:\\"# + place, #"https:/\"# + place, #"https:/\/"# + place, "https:" + place,
    "https:/" + place, "https:///" + place, "https:////" + place, "//" + place, place,
    "http://" + place, "HTTP://" + place, "ftp://" + place, "file://" + place, "gopher://" + place,
    "\(service).:443/push/a", "\(service)../push/a", "https://.fcm.googleapis.com/push/a",
    "\(service):/push/a", "\(service):0443/push/a", "\(service):+443/push/a",
    "\(service):99999/push/a", "\(service):4\u{FF14}3/push/a", "\(service):443:\(port)/push/a",
    "\(service)/../../push/a", "\(service)/%2e%2e/push/a", "\(service)/push/%zz",
    "https://fcm\u{FF0E}googleapis\u{FF0E}com/push/a", "https://fcm%2egoogleapis.com/push/a",
    service, "\(service)?/push/a",
  ]
  return between + numbers + suffixes + spellings
}
