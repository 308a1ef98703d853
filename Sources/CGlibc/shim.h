// The parts of glibc that Swift's module Glibc leaves out.
#include <malloc.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/types.h>

// glibc declares these only under _GNU_SOURCE, which Swift's importer does not define.
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int memfd_create(const char *name, unsigned int flags);
int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end);

// Only for dl_iterate_phdr: with _GNU_SOURCE for all headers, fd_set would differ from that of Swift's module.
#define __USE_GNU
#include <link.h>
