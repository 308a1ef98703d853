#define NO_FCGI_DEFINES 1
#include <fcgiapp.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

// GNU declares these only under _GNU_SOURCE, which Swift's importer does not define.
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int memfd_create(const char *name, unsigned int flags);
int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end);
