// The slow path of Swift's Mutex for ThreadSanitizer, which does not see the atomic operations of Swift's own library: it would
// take all that a contended Mutex protects for unprotected. Linked into the tests, it replaces the function of the library.
// It never sleeps on the futex, so that each unlock takes the fast path, which is compiled into our code.

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

void __tsan_acquire(void *address);

__attribute__((swiftcall)) void
lock_slowly(uint32_t thread, __attribute__((swift_context)) _Atomic uint32_t *owner)
    __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");

__attribute__((swiftcall)) void
lock_slowly(uint32_t thread, __attribute__((swift_context)) _Atomic uint32_t *owner) {
  uint32_t nobody = 0;
  while (!atomic_compare_exchange_weak(owner, &nobody, thread)) {
    nobody = 0;
    sched_yield();
  }
  __tsan_acquire(owner);
}
