// The parts of glibc that Swift's module Glibc leaves out.
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/types.h>
// Only for dl_iterate_phdr: with _GNU_SOURCE for all headers, fd_set would differ from that of Swift's module.
#define __USE_GNU
#include <link.h>
