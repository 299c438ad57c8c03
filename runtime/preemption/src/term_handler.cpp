#include <det/foundation/signal_sender.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/preemption/term_handler.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <unistd.h>

namespace det::preemption {
namespace {

SystemClock const term_clock;

/// What the signal handler reads, which has no other argument.
struct TermHandlerState {
    std::atomic<NoticePage*> page = nullptr;
    std::atomic<pid_t> process = 0;  // with the TermHandler
    // The handler that a child process has installed, if this one stands in front of it
    std::atomic<void (*)(int, siginfo_t*, void*)> handler_of_child = nullptr;
};
TermHandlerState term_handler_state;

void end_by_default_action() {
    ::signal(SIGTERM, SIG_DFL);
    ::raise(SIGTERM);  // is pending until the handler returns
}

extern "C" void det_handle_term(int signal, siginfo_t* info, void* context) {
    int const errno_before = errno;
    auto* const page = term_handler_state.page.load(std::memory_order_acquire);
    bool const is_owner = page != nullptr && ::getpid() == term_handler_state.process.load();
    if (is_sent_by_slurm(info->si_pid, info->si_uid)) {
        if (is_owner) page->raise(term_clock, NoticePage::By::slurm);
    } else if (auto* const theirs = term_handler_state.handler_of_child.load(); theirs != nullptr) {
        theirs(signal, info, context);
    } else if (!is_owner || !page->is_raised()) {
        end_by_default_action();
    }
    errno = errno_before;
}

bool is_default(struct sigaction const& action) {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

void install_term_handler() {
    struct sigaction action {};
    action.sa_sigaction = det_handle_term;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGTERM, &action, nullptr);
}

bool is_ours(struct sigaction const& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == det_handle_term;
}

class InstalledTermHandler final : public TermHandler {
public:
    explicit InstalledTermHandler(NoticePage page) : page_(std::move(page)) {
        NoticePage* none = nullptr;
        is_first_ = term_handler_state.page.compare_exchange_strong(none, &page_);
        if (!is_first_) return;
        term_handler_state.process = ::getpid();
        struct sigaction before {};
        if (::sigaction(SIGTERM, nullptr, &before) != 0 || !is_default(before)) return;
        install_term_handler();
    }
    ~InstalledTermHandler() override {
        if (!is_first_) return;
        struct sigaction now {};
        if (::sigaction(SIGTERM, nullptr, &now) == 0 && is_ours(now)) ::signal(SIGTERM, SIG_DFL);
        term_handler_state.page = nullptr;
    }

private:
    NoticePage page_;
    bool is_first_ = false;
};

}  // namespace

Result<std::unique_ptr<TermHandler>> TermHandler::install(std::filesystem::path const& page) {
    DET_TRY_ASSIGN(auto opened, NoticePage::open(page));
    return std::unique_ptr<TermHandler>(std::make_unique<InstalledTermHandler>(std::move(opened)));
}

void TermHandler::wrap_handler_of_child() noexcept {
    bool const is_child =
        term_handler_state.page.load() != nullptr && term_handler_state.process.load() != ::getpid();
    struct sigaction theirs {};
    bool const has_handler = ::sigaction(SIGTERM, nullptr, &theirs) == 0 &&
                             (theirs.sa_flags & SA_SIGINFO) != 0 && !is_ours(theirs);
    if (!is_child || !has_handler) return;
    term_handler_state.handler_of_child = theirs.sa_sigaction;
    install_term_handler();
}

}  // namespace det::preemption
