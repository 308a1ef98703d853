/// What transactions see of each other.
package enum Isolation: Sendable { case repeatableRead, readCommitted }
