import CGlibc
import Glibc

/// Lets all threads use one heap, because each thread's own heap keeps the memory of the largest work that the thread has done.
/// Call this before any thread starts.
///
/// The corresponding C function is `mallopt` with `M_ARENA_MAX`.
package func useOneHeap() { mallopt(M_ARENA_MAX, 1) }

/// Takes the code and the constants of the program and its libraries out of this process's memory. The kernel maps a page again,
/// from its cache, when it is needed.
///
/// Call this once, after the start: that touches many pages for the only time, and the kernel maps their neighbors too. A
/// debugger's breakpoints are lost, because they are changes of the code.
///
/// The corresponding C functions are `dl_iterate_phdr` and `madvise` with `MADV_DONTNEED`.
package func releaseStartPages() {
  dl_iterate_phdr({ object, _, _ in releasePages(of: object!.pointee) }, nil)
}

/// - Returns: 0, so that `dl_iterate_phdr` goes on.
private func releasePages(of object: dl_phdr_info) -> CInt {
  let pageSize = UInt(sysconf(CInt(_SC_PAGESIZE)))
  for segment in UnsafeBufferPointer(start: object.dlpi_phdr, count: Int(object.dlpi_phnum))
  where segment.p_type == PT_LOAD && segment.p_flags & UInt32(PF_W) == 0 {
    // Only whole pages of the segment.
    let begin = UInt(object.dlpi_addr) + UInt(segment.p_vaddr)
    let end = (begin + UInt(segment.p_memsz)) / pageSize * pageSize
    let first = (begin + pageSize - 1) / pageSize * pageSize
    guard first < end else { continue }
    madvise(UnsafeMutableRawPointer(bitPattern: first), Int(end - first), CInt(MADV_DONTNEED))
  }
  return 0
}
