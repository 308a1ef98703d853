/// What a ``Server`` tells whoever started it.
package enum Report: Sendable {
  /// It answers requests.
  case ready
  /// One of its threads was free to take a request: nothing holds all of them up.
  case alive
  /// It accepts nothing new.
  case stopping
}
