#pragma once
#include <det/foundation/files.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "relay.hpp"

namespace det::launch::wrap_rank {

/// Calls the functions of a command that read or write files of the run. They are called on a thread of its
/// own, one at a time: while the shared file system does not answer, a notice and the end of the command are
/// handled. Work that is requested several times before it begins is done once, so that what waits is
/// bounded. Of the work that waits, what has the lowest number is done first.
class FileThread {
public:
    enum Work : unsigned {
        record_notice = 1,  // RelayedCommand::record_notice
        write_waits = 2,    // RelayedCommand::write_waits
        beat = 4,           // RelayedCommand::beat and find_requests
        watch = 8,          // RelayedCommand::watch
    };
    /// What the heartbeats since the last take() have found.
    struct Found {
        bool must_end = false;  // the command must be killed
        std::vector<std::string_view> requests;
    };

    /// \param command must outlive this object
    explicit FileThread(RelayedCommand const& command);
    FileThread(FileThread const&) = delete;
    FileThread& operator=(FileThread const&) = delete;
    /// Blocks until all requested work is done.
    ~FileThread();

    void request(Work work);
    /// Readable if take() returns anything.
    int fd() const { return event_.get(); }
    Found take();

private:
    void run(std::stop_token const& stop);
    void execute(Work work);

    RelayedCommand const& command_;
    UniqueFd event_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    unsigned requested_ = 0;
    Found found_;
    std::jthread thread_;  // declared last: it uses the other members
};

}  // namespace det::launch::wrap_rank
