@testable import API

/// The names in requests to each route, as the description of the API has them.
///
/// `?name` is in the query, other names are in the body; `:name` of a path is not listed.
enum RouteNames {
  static func names(of route: Route) -> [String] { table["\(route.method) \(route.path)"] ?? [] }

  /// Every name for which walks make values.
  static let all = Set(table.values.joined()).sorted()

  static func takesForm(_ path: String) -> Bool {
    path == "/account" || path.hasPrefix("/account/") || path == "/pair" || path.hasPrefix("/pair/")
      || path.hasPrefix("/api/enrollment/callback/")
  }

  private static let table = Dictionary(
    uniqueKeysWithValues: Family.all.flatMap(\.routes).map { route in
      ("\(route.method) \(route.path)", names(of: route.endpoint.operation()))
    })

  private static func names(of operation: Operation) -> [String] {
    let ticket = operation.access.alternatives.joined().contains(.pairingTicket) ? ["?token"] : []
    return ticket + operation.query.map { "?\($0.name)" } + (operation.body?.schema.names ?? [])
  }
}

extension Schema {
  /// The names of the members of an object, also of one that has several forms, each once.
  fileprivate var names: [String] {
    var names: [String] = []
    for name in members.map(\.name) + choices.flatMap(\.names) where !names.contains(name) {
      names.append(name)
    }
    return names
  }
}
