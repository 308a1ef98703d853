import HTTP
import Store

/// A read that one statement does for several requests, instead of one statement for each.
///
/// The requests wait at the same time, and the statement begins after all of them have arrived. So each answer is as new
/// as that of a statement of its own: a logout counts at once. Nothing is kept for later requests.
struct GroupedRead: Sendable {
  /// Answers `requests` in their order.
  let respond: @Sendable (_ requests: [RunningRequest]) -> [Result<Response, any Error>]

  /// - Parameters:
  ///   - key: Authenticates a request and names what it reads.
  ///   - find: Finds the values of several keys, in their order; the error of a key fails only its request.
  ///   - answer: Makes the answer of one value.
  init<Key: Sendable, Value: Sendable>(
    key: @escaping @Sendable (Request, borrowing Context) throws -> Key,
    find: @escaping @Sendable (Records, [Key]) throws -> [Result<Value, any Error>],
    answer: @escaping @Sendable (Value) -> Response
  ) {
    respond = { requests in
      var keys: [Key] = []
      // Without a connection, each further request of the group would wait for one again.
      var outage: (any Error)?
      func unlessAway<T>(_ body: () throws -> T) -> Result<T, any Error> {
        if let outage { return .failure(outage) }
        let result = Result { try body() }
        if case .failure(let error) = result, Database.isUnreachable(error) { outage = error }
        return result
      }
      let places = requests.map { request in
        unlessAway {
          let context = request.context
          try request.application.runBefore(request, context)
          keys.append(try key(request.request, context))
          return keys.count - 1
        }
      }
      let values = unlessAway { keys.isEmpty ? [] : try find(requests[0].records, keys) }
      return places.map { place in
        Result {
          let place = try place.get()  // first: its error is not that of the others' read
          return answer(try values.get()[place].get())
        }
      }
    }
  }
}
