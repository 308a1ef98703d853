import Glibc

/// File system of a folder (`statvfs`).
struct Disk {
  let name: String
  /// Size in bytes.
  let size: UInt64
  /// Free bytes for programs without special rights.
  let free: UInt64

  /// Problem if less than 5 % and less than 2 GB are free; nil otherwise.
  var problem: String? {
    guard free < size / 20, free < 2_000_000_000 else { return nil }
    return "The disk of the \(name) has \(free / 1_000_000) MB left of \(size / 1_000_000)."
  }
}

extension Disk {
  /// - Returns: nil if the folder does not exist or may not be read.
  init?(of path: String, named name: String) {
    var disk = statvfs()
    guard statvfs(path, &disk) == 0 else { return nil }
    self.name = name
    size = UInt64(disk.f_blocks) * UInt64(disk.f_frsize)
    free = UInt64(disk.f_bavail) * UInt64(disk.f_frsize)
  }
}
