#include "script_signals.hpp"

namespace det::launch::supervisor {

sigset_t script_signals() {
    sigset_t signals;
    ::sigfillset(&signals);
    for (int const other : {SIGSEGV, SIGILL, SIGFPE, SIGBUS, SIGABRT, SIGTRAP, SIGSYS, SIGCHLD, SIGPIPE,
                            SIGTTIN, SIGTTOU, SIGTSTP, SIGCONT, SIGURG})
        ::sigdelset(&signals, other);
    return signals;
}

}  // namespace det::launch::supervisor
