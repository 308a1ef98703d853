import Support
import Testing

/// Gives the tests of a suite one site in common, ``Support/Site/ofSuite``. Tests that store rows or
/// end programs use `withSite` and so have their own.
struct OneSite: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withSite { site in
      try await Site.$current.withValue(site) { try await function() }
    }
  }
}

extension Trait where Self == OneSite {
  static var oneSite: Self { Self() }
}

extension Site {
  @TaskLocal fileprivate static var current: Site?

  /// The site of the running suite, which has the trait `oneSite`.
  static var ofSuite: Site { current! }
}
