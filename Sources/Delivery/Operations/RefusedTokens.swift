import Store

/// Decides whether refused tokens show a mistake of ours, such as a wrong host.
struct RefusedTokens: Sendable {
  private let database: Database

  init(_ database: Database) { self.database = database }

  /// Whether `tokens`, refused in one run, are too many to be exceptions: more than 20, and more
  /// than a tenth of the deliveries with an outcome. Of one person, three count.
  func areOurFault(_ tokens: [String], among answered: Int) -> Bool {
    func areMany(_ count: Int) -> Bool { count > 20 && count * 10 > answered }
    guard areMany(tokens.count) else { return false }
    let deliveries = database.records(at: .now(), from: .companion).deliveries
    // If the database does not answer, no token is removed.
    do { return areMany(try deliveries.count(tokens, ofEachOwner: 3)) } catch { return true }
  }
}
