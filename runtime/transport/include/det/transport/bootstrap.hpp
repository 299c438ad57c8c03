#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace det::transport {

/// How the ranks of a run find each other before they have a Transport: small byte strings that one rank puts
/// and others get. Every wait has a limit, and ends earlier where it is known that the awaited rank has gone.
///
/// Threads: one at a time. Destroyed on the chief last, or at the same time: others may still want to get.
class Bootstrap {
public:
    static constexpr std::size_t key_limit_bytes = 128;
    static constexpr std::size_t value_limit_bytes = std::size_t{64} << 10;

    virtual ~Bootstrap() = default;
    Bootstrap(Bootstrap const&) = delete;
    Bootstrap& operator=(Bootstrap const&) = delete;

    Rank rank() const { return rank_; }
    int size() const { return size_; }

    /// Each key once per rank. Keys are letters, digits, '.', '_' and '-'.
    Status put(std::string const& key, std::string const& value);
    /// What `from` put before the last fence (or allgather). To ask for anything else is an error, at the
    /// latest when the time is over.
    Result<std::string> get(Rank from, std::string const& key);

    /// Collective: what each rank gave, in rank order.
    Result<std::vector<std::string>> allgather(std::string const& value);
    /// Collective: nobody returns before everybody has come.
    Status fence();

protected:
    Bootstrap(Rank rank, int size) : rank_(rank), size_(size) {}

private:
    virtual Status do_put(std::string const& key, std::string const& value) = 0;
    virtual Result<std::string> do_get(Rank from, std::string const& key) = 0;
    virtual Result<std::vector<std::string>> do_allgather(std::string const& value) = 0;

    Rank rank_;
    int size_;
    std::set<std::string> own_keys_;
};

struct BootstrapOptions {
    /// How long one call waits for the others: they may start later than this rank.
    std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

}  // namespace det::transport
