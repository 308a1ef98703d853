import CMariaDB

/// Binds that own their buffers: `buffer` is allocated, `buffer_length` is its capacity.
extension UnsafeMutablePointer<MYSQL_BIND> {
  /// Lets the library, which copies the binds, report into the fields of this one.
  func pointToOwnFields(at index: Int) {
    let bind = self + index
    bind.pointee.length = bind.pointer(to: \.length_value)
    bind.pointee.is_null = bind.pointer(to: \.is_null_value)
    bind.pointee.error = bind.pointer(to: \.error_value)
  }

  /// Replaces the buffer; its content is lost. The library has to be told by binding again.
  func allocateBuffer(at index: Int, capacity: Int) {
    self[index].buffer?.deallocate()
    self[index].buffer = .allocate(byteCount: capacity, alignment: MemoryLayout<Int>.alignment)
    self[index].buffer_length = UInt(capacity)
  }

  func deallocateWithBuffers(count: Int) {
    for index in 0..<count { self[index].buffer?.deallocate() }
    deallocate()
  }
}
