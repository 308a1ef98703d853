/// What the companion calls itself.
package enum Product {
  package static let version = "1.0.0"
}
