/// Version of the programs.
package enum Product {
  package static let version = "1.1.0"
}
