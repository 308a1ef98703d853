import Glibc

/// This host's name (`gethostname`), at most 255 bytes.
package func hostName() -> String {
  String(unsafeUninitializedCapacity: 256) { buffer in
    buffer.initialize(repeating: 0)
    return buffer.withMemoryRebound(to: CChar.self) { name in
      gethostname(name.baseAddress!, name.count - 1) == 0 ? strlen(name.baseAddress!) : 0
    }
  }
}
