#pragma once
#include <det/launch/launchers/messages.hpp>
#include <det/launch/launchers/verdict.hpp>

#include <list>
#include <poll.h>
#include <vector>

namespace det::launch::launchers {

/// Who of a launch is there.
class Roll {
public:
    static Result<Roll> open(std::filesystem::path const& path);
    Roll(Roll&&) = default;
    Roll& operator=(Roll&&) = delete;
    ~Roll();

    std::filesystem::path const& path() const { return path_; }
    void add_to(std::vector<pollfd>& polled) const;
    /// Takes in what has come: arrivals, goodbyes, disappearances.
    void take_in(LaunchFacts& facts);
    /// Workers that are there; commands on other nodes don't count.
    int present() const;
    /// Tells all to end what they started.
    void dismiss() { members_.clear(); }

private:
    struct Member {
        UniqueFd socket;
        Hello hello;
        bool has_said_goodbye = false;
    };
    Roll(std::filesystem::path path, UniqueFd listening)
        : path_(std::move(path)), listening_(std::move(listening)) {}
    void admit();
    /// False once it has gone.
    static bool hear(Member& member, LaunchFacts& facts);
    static void on_vanished(Member const& member, LaunchFacts& facts);

    std::filesystem::path path_;
    UniqueFd listening_;
    std::list<Member> members_;
};

}  // namespace det::launch::launchers
