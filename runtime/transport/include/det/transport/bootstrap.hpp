#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace det::transport {

/// A key-value store with which the ranks of a run exchange addresses before they have a Transport. Every
/// wait for another rank has a time limit (BootstrapOptions::timeout).
///
/// Not thread-safe. The chief, rank 0, must not destroy it while other ranks still call it. After
/// codes::timed_out the program must not call it again: a later collective call could be matched with an
/// earlier one of another rank. Over TCP all later calls fail.
class Bootstrap {
public:
    static constexpr std::size_t key_limit_bytes = 128;
    static constexpr std::size_t value_limit_bytes = std::size_t{64} << 10;

    virtual ~Bootstrap() = default;
    Bootstrap(Bootstrap const&) = delete;
    Bootstrap& operator=(Bootstrap const&) = delete;

    Rank rank() const { return rank_; }
    int size() const { return size_; }

    /// Stores a value. A rank may use each key once. Not collective.
    ///
    /// \param key letters, digits, '.', '_' and '-'; at most key_limit_bytes. Names that begin with
    ///     "allgather-" are reserved.
    /// \param value any bytes; at most value_limit_bytes.
    /// \return codes::misuse for an invalid or repeated key, or a value that is too large; an error of the
    ///     connection or the file system.
    Status put(std::string const& key, std::string const& value);
    /// Returns the value that rank `from` has put before the last fence() or allgather(). May block up to the
    /// time limit for any other key.
    /// \return codes::misuse for an invalid key or rank; codes::timed_out or codes::transport for a missing
    ///     value; an error of the connection or the file system.
    Result<std::string> get(Rank from, std::string const& key);

    /// Exchanges one value of each rank. Collective; blocks until all ranks have called it.
    /// \param value any bytes; at most value_limit_bytes.
    /// \return the values in rank order; codes::misuse for a value that is too large; codes::timed_out or
    ///     codes::transport if a rank does not call it.
    Result<std::vector<std::string>> allgather(std::string const& value);
    /// Waits for all ranks. Collective; blocks until all ranks have called it.
    /// \return errors as for allgather().
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
    /// Time limit of one wait. Other ranks may start later than this one. allgather() and fence() may wait
    /// for one rank after the other, each with this limit.
    std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

}  // namespace det::transport
