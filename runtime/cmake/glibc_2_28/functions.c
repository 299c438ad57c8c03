// Programs that are built with a newer glibc and run with glibc 2.28 (EL8). Most functions that glibc 2.29
// to 2.36 made new versions of are in 2.28 under an older version, and newer releases keep these. This file
// defines the functions once more, hidden in each program and library, as calls of the older versions. It
// also holds what 2.28 lacks and libstdc++ needs. `tests/packages/check-glibc` fails on any function that is
// missing here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#define IF_X86_64(version) version
#define STAT_VERSION 1
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#define IF_X86_64(version) "GLIBC_2.17"
#define STAT_VERSION 0
#else
#error "the versions of glibc's functions are known for x86_64 and aarch64"
#endif

// Defines a function as a call of its version `version`, and declares that as old_<name>.
#define USE_VERSION(version, type, name, parameters, arguments) \
    extern type old_##name parameters;                          \
    __asm__(".symver old_" #name "," #name "@" version);        \
    type name parameters { return old_##name arguments; }

// 2.34 moved these from libpthread and libdl to libc.
int __pthread_key_create(pthread_key_t* key, void (*destroy)(void*));
USE_VERSION(OLDEST, int, __pthread_key_create, (pthread_key_t * key, void (*destroy)(void*)), (key, destroy))
USE_VERSION(OLDEST, int, pthread_key_create, (pthread_key_t * key, void (*destroy)(void*)), (key, destroy))
USE_VERSION(OLDEST, int, pthread_key_delete, (pthread_key_t key), (key))
USE_VERSION(OLDEST, void*, pthread_getspecific, (pthread_key_t key), (key))
USE_VERSION(OLDEST, int, pthread_setspecific, (pthread_key_t key, void const* value), (key, value))
USE_VERSION(OLDEST, int, pthread_create,
            (pthread_t * thread, pthread_attr_t const* attributes, void* (*start)(void*), void* argument),
            (thread, attributes, start, argument))
USE_VERSION(OLDEST, int, pthread_join, (pthread_t thread, void** result), (thread, result))
USE_VERSION(OLDEST, int, pthread_detach, (pthread_t thread), (thread))
USE_VERSION(OLDEST, int, pthread_once, (pthread_once_t * once, void (*call)(void)), (once, call))
USE_VERSION(OLDEST, int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
USE_VERSION(OLDEST, int, pthread_mutexattr_init, (pthread_mutexattr_t * attributes), (attributes))
USE_VERSION(OLDEST, int, pthread_mutexattr_destroy, (pthread_mutexattr_t * attributes), (attributes))
USE_VERSION(OLDEST, int, pthread_mutexattr_settype, (pthread_mutexattr_t * attributes, int type),
            (attributes, type))
USE_VERSION(OLDEST, int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
USE_VERSION(OLDEST, int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
USE_VERSION(OLDEST, int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))
USE_VERSION(OLDEST, int, pthread_rwlock_init,
            (pthread_rwlock_t * lock, pthread_rwlockattr_t const* attributes), (lock, attributes))
USE_VERSION(OLDEST, int, pthread_rwlock_destroy, (pthread_rwlock_t * lock), (lock))
USE_VERSION(IF_X86_64("GLIBC_2.3.3"), int, pthread_condattr_setclock,
            (pthread_condattr_t * attributes, clockid_t clock), (attributes, clock))
USE_VERSION(IF_X86_64("GLIBC_2.12"), int, pthread_setname_np, (pthread_t thread, char const* name),
            (thread, name))
USE_VERSION(OLDEST, void*, dlopen, (char const* file, int mode), (file, mode))
USE_VERSION(OLDEST, void*, dlsym, (void* restrict handle, char const* restrict name), (handle, name))
USE_VERSION(OLDEST, char*, dlerror, (void), ())
USE_VERSION(OLDEST, int, dlclose, (void* handle), (handle))
USE_VERSION(OLDEST, int, dladdr, (void const* address, Dl_info* info), (address, info))
// 2.32
USE_VERSION(OLDEST, int, pthread_sigmask, (int how, sigset_t const* set, sigset_t* old_set),
            (how, set, old_set))
// 2.29: the same values; only errno after an error differs.
USE_VERSION(OLDEST, double, exp, (double x), (x))
USE_VERSION(OLDEST, double, log, (double x), (x))
USE_VERSION(OLDEST, double, pow, (double x, double y), (x, y))

// Before 2.33 these were inline functions that called the following.
int __xstat(int version, char const* path, struct stat* result);
int __lxstat(int version, char const* path, struct stat* result);
int __fxstat(int version, int fd, struct stat* result);
int __fxstatat(int version, int fd, char const* path, struct stat* result, int flags);
int __xmknod(int version, char const* path, mode_t mode, dev_t* device);
int stat(char const* restrict path, struct stat* restrict result) {
    return __xstat(STAT_VERSION, path, result);
}
int lstat(char const* restrict path, struct stat* restrict result) {
    return __lxstat(STAT_VERSION, path, result);
}
int fstat(int fd, struct stat* result) { return __fxstat(STAT_VERSION, fd, result); }
int fstatat(int fd, char const* restrict path, struct stat* restrict result, int flags) {
    return __fxstatat(STAT_VERSION, fd, path, result, flags);
}
int __xstat64(int version, char const* path, struct stat64* result);
int __lxstat64(int version, char const* path, struct stat64* result);
int __fxstat64(int version, int fd, struct stat64* result);
int __fxstatat64(int version, int fd, char const* path, struct stat64* result, int flags);
int stat64(char const* restrict path, struct stat64* restrict result) {
    return __xstat64(STAT_VERSION, path, result);
}
int lstat64(char const* restrict path, struct stat64* restrict result) {
    return __lxstat64(STAT_VERSION, path, result);
}
int fstat64(int fd, struct stat64* result) { return __fxstat64(STAT_VERSION, fd, result); }
int fstatat64(int fd, char const* restrict path, struct stat64* restrict result, int flags) {
    return __fxstatat64(STAT_VERSION, fd, path, result, flags);
}
int mknod(char const* path, mode_t mode, dev_t device) { return __xmknod(0, path, mode, &device); }

// 2.32. libstdc++ counts references without atomic operations where this is not 0.
char __libc_single_threaded = 0;

// 2.30. Calls glibc's function where there is one.
typedef int ClockWait(pthread_cond_t*, pthread_mutex_t*, clockid_t, struct timespec const*);
static ClockWait* clock_wait_of_glibc = NULL;
__attribute__((constructor)) static void find_clock_wait(void) {
    clock_wait_of_glibc = (ClockWait*)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
}

// Waits for at most a second of the real-time clock and then returns 0, as after a spurious wakeup, so that a
// change of that clock does not prolong the wait.
static int wait_for_at_most_a_second(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                     struct timespec const* deadline) {
    enum { second_ns = 1000000000 };
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) return EINVAL;
    long long const rest_ns =
        (long long)(deadline->tv_sec - now.tv_sec) * second_ns + (deadline->tv_nsec - now.tv_nsec);
    if (rest_ns <= 0) return ETIMEDOUT;
    clock_gettime(CLOCK_REALTIME, &now);
    long long const end_ns = now.tv_nsec + (rest_ns < second_ns ? rest_ns : second_ns);
    struct timespec const end = {now.tv_sec + end_ns / second_ns, end_ns % second_ns};
    int const result = pthread_cond_timedwait(condition, mutex, &end);
    return result == ETIMEDOUT && rest_ns > second_ns ? 0 : result;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           struct timespec const* deadline) {
    if (clock_wait_of_glibc != NULL) return clock_wait_of_glibc(condition, mutex, clock, deadline);
    return wait_for_at_most_a_second(condition, mutex, clock, deadline);
}
