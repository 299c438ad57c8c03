// A library that slurmd of profile two-sockets preloads. A node there has more CPUs than the machine: binding
// a rank to a CPU that the machine lacks succeeds and leaves the rank unbound, where Linux would return
// EINVAL.
#include <cerrno>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int sched_setaffinity(pid_t pid, std::size_t size, cpu_set_t const* set) noexcept {
    if (::syscall(SYS_sched_setaffinity, pid, size, set) == 0) return 0;
    return errno == EINVAL ? 0 : -1;
}
