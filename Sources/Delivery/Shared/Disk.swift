import Glibc

/// The file system that a folder is on (`statvfs`).
struct Disk {
  let name: String
  /// Bytes.
  let size: UInt64
  /// Bytes that programs without special rights may use.
  let free: UInt64

  /// A twentieth is little, but 2 GB are enough on any disk.
  var problem: String? {
    guard free < size / 20, free < 2_000_000_000 else { return nil }
    return "The disk of the \(name) has \(free / 1_000_000) MB left of \(size / 1_000_000)."
  }
}

extension Disk {
  /// - Returns: nil where there is no such folder, or it may not be looked at.
  init?(of path: String, named name: String) {
    var disk = statvfs()
    guard statvfs(path, &disk) == 0 else { return nil }
    self.name = name
    size = UInt64(disk.f_blocks) * UInt64(disk.f_frsize)
    free = UInt64(disk.f_bavail) * UInt64(disk.f_frsize)
  }
}
