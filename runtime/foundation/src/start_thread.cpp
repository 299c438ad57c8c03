#include <det/foundation/start_thread.hpp>

#include <pthread.h>
#include <signal.h>

namespace det {
namespace {

class AllSignalsBlocked {
public:
    AllSignalsBlocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    AllSignalsBlocked(AllSignalsBlocked const&) = delete;
    AllSignalsBlocked& operator=(AllSignalsBlocked const&) = delete;

private:
    sigset_t before_{};
};

}  // namespace

std::jthread start_thread(char const* name, std::function<void(std::stop_token const&)> body) {
    AllSignalsBlocked const blocked;  // a new thread inherits the signal mask of its creator
    std::jthread thread([body = std::move(body)](std::stop_token const& stop) { body(stop); });
    ::pthread_setname_np(thread.native_handle(), name);
    return thread;
}

}  // namespace det
