import COpenSSL

/// Bytes that cannot be printed or copied by accident, and that are wiped when their owner ends.
///
/// The corresponding C function is `OPENSSL_cleanse`.
package struct Secret: ~Copyable, @unchecked Sendable {
  // Never written after `init`, so threads may share it.
  private let storage: UnsafeMutableBufferPointer<UInt8>

  /// Copies `bytes`. The caller must wipe its own.
  package init(copying bytes: Span<UInt8>) {
    storage = .allocate(capacity: bytes.count)
    bytes.withUnsafeBufferPointer { _ = storage.initialize(fromContentsOf: $0) }
  }

  deinit {
    OPENSSL_cleanse(storage.baseAddress, storage.count)
    storage.deallocate()
  }

  /// The number of bytes.
  package var count: Int { storage.count }

  /// Lends the bytes to `body`, which must not keep a copy.
  package func withBytes<Result, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(storage.span)
  }
}

/// Overwrites `bytes`, which held a secret on its way into a ``Secret``.
func wipe(_ bytes: inout [UInt8]) {
  bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
}
