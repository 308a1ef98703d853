import CMariaDB

/// Binds that own their buffers: `buffer` is allocated, `buffer_length` is its capacity.
extension UnsafeMutablePointer<MYSQL_BIND> {
  /// Points the results of the bind at its own fields, because the library copies the binds.
  func pointToOwnFields(at index: Int) {
    let bind = self + index
    bind.pointee.length = bind.pointer(to: \.length_value)
    bind.pointee.is_null = bind.pointer(to: \.is_null_value)
    bind.pointee.error = bind.pointer(to: \.error_value)
  }

  /// Replaces the buffer; its content is lost. Bind again afterwards, to tell the library.
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
