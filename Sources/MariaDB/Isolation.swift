/// The isolation level of a transaction.
package enum Isolation: Sendable { case repeatableRead, readCommitted }
