#pragma once
#include <det/checkpoint/peers.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

/// An allgather between threads that act as ranks.
class ThreadExchange {
public:
    explicit ThreadExchange(int size) : values_(static_cast<std::size_t>(size)) {}
    int size() const { return static_cast<int>(values_.size()); }

    /// Blocks until every rank has called it. Returns the values of all ranks. Fails after 30 s.
    det::Result<std::vector<std::string>> exchange(int rank, std::string value) {
        std::unique_lock lock(mutex_);
        auto const round = round_;
        values_[static_cast<std::size_t>(rank)] = std::move(value);
        if (++arrived_ == size()) {
            result_ = values_;
            arrived_ = 0;
            ++round_;
            changed_.notify_all();
        } else if (!changed_.wait_for(lock, std::chrono::seconds(30), [&] { return round_ != round; })) {
            return det::Error{det::codes::transport, "a rank did not call exchange() in time"};
        }
        return result_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> values_, result_;
    int arrived_ = 0;
    std::uint64_t round_ = 0;
};

class ThreadPeers final : public det::checkpoint::Peers {
public:
    ThreadPeers(ThreadExchange& exchange, int rank) : exchange_(exchange), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return exchange_.size(); }

    det::Result<std::vector<std::string>> gather(std::string value) override {
        DET_TRY_ASSIGN(auto all, exchange_.exchange(rank_, std::move(value)));
        if (rank_ != 0) all.clear();
        return all;
    }
    det::Result<std::vector<std::string>> allgather(std::string value) override {
        return exchange_.exchange(rank_, std::move(value));
    }
    det::Result<std::string> broadcast(std::string value) override {
        DET_TRY_ASSIGN(auto const all, exchange_.exchange(rank_, std::move(value)));
        return all[0];
    }
    det::Status allreduce_min(std::span<std::int64_t> values) override {
        std::string bytes(reinterpret_cast<char const*>(values.data()), values.size_bytes());
        DET_TRY_ASSIGN(auto const all, exchange_.exchange(rank_, std::move(bytes)));
        for (auto const& other : all) {
            for (std::size_t i = 0; i < values.size(); ++i) {
                std::int64_t value;
                std::copy_n(other.data() + i * sizeof value, sizeof value, reinterpret_cast<char*>(&value));
                values[i] = std::min(values[i], value);
            }
        }
        return det::Ok{};
    }

private:
    ThreadExchange& exchange_;
    int rank_;
};

/// Throws if the condition does not hold, which ends the program of a thread. The checks of Boost.Test may
/// not be used by several threads at a time.
inline void must_be(bool condition, std::string const& what) {
    if (!condition) throw std::logic_error("not so: " + what);
}

/// Runs `body` in `size` threads, one per rank.
inline void as_ranks(int size, std::function<void(ThreadPeers&)> const& body) {
    ThreadExchange exchange(size);
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < size; ++rank) {
        ranks.emplace_back([&, rank] {
            ThreadPeers peers(exchange, rank);
            body(peers);
        });
    }
}
