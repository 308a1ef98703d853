import CMariaDB

/// The memory from which the library reads a statement's parameters. Allocated once; grows for
/// longer values, so that an execution allocates nothing.
struct ParameterBuffers: ~Copyable {
  let binds: UnsafeMutablePointer<MYSQL_BIND>
  let count: Int
  /// Whether `binds` must be bound (again): an address or a type has changed.
  var needBinding = true

  init(count: Int) {
    self.count = count
    binds = .allocate(capacity: count)
    binds.initialize(repeating: MYSQL_BIND(), count: count)
    for index in 0..<count {
      binds.pointToOwnFields(at: index)
      binds[index].buffer_type = MYSQL_TYPE_STRING
      binds.allocateBuffer(at: index, capacity: 32)
    }
  }

  deinit {
    binds.deallocateWithBuffers(count: count)
  }

  mutating func store(_ parameters: [Parameter]) {
    precondition(parameters.count == count, "one parameter for each ? of the statement")
    let parameters = parameters.span  // lends each parameter; an iterator would copy it
    for index in parameters.indices { store(parameters[index], at: index) }
  }

  private mutating func store(_ parameter: Parameter, at index: Int) {
    switch parameter {
    case .null:
      binds[index].is_null_value = 1
      return
    case .integer(let value):
      withUnsafeBytes(of: value) { store($0, MYSQL_TYPE_LONGLONG, at: index) }
    case .boolean(let value):
      withUnsafeBytes(of: Int64(value ? 1 : 0)) { store($0, MYSQL_TYPE_LONGLONG, at: index) }
    case .dateTime(let milliseconds):
      withUnsafeBytes(of: MYSQL_TIME(milliseconds: milliseconds)) {
        store($0, MYSQL_TYPE_DATETIME, at: index)
      }
    case .bytes(let bytes):
      bytes.withUnsafeBytes { store($0, MYSQL_TYPE_BLOB, at: index) }
    case .text(let text):
      text.utf8.span.withUnsafeBytes { store($0, MYSQL_TYPE_STRING, at: index) }
    }
  }

  private mutating func store(
    _ value: UnsafeRawBufferPointer, _ type: enum_field_types, at index: Int
  ) {
    if binds[index].buffer_length < value.count {
      binds.allocateBuffer(at: index, capacity: value.count)
      needBinding = true
    }
    if binds[index].buffer_type != type {
      binds[index].buffer_type = type
      needBinding = true
    }
    if let source = value.baseAddress {
      binds[index].buffer.copyMemory(from: source, byteCount: value.count)
    }
    binds[index].length_value = UInt(value.count)
    binds[index].is_null_value = 0
  }
}
