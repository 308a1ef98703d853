/// Paths of the wallet's family.
enum WalletPath {
  static let summary = "/api/mobile/wallet/summary"
  static let cards = "/api/mobile/wallet/cards"
  static let banks = "/api/mobile/enrollment/banks"
  static let enrollments = "/api/mobile/enrollment/list"
}
