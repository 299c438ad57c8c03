#pragma once
#include <det/checkpoint/peers.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

/// Where threads that play ranks tell each other things.
class Meeting {
public:
    explicit Meeting(int size) : said_(static_cast<std::size_t>(size)) {}
    int size() const { return static_cast<int>(said_.size()); }

    /// What all have said, once all have.
    det::Result<std::vector<std::string>> exchange(int rank, std::string value) {
        std::unique_lock lock(mutex_);
        auto const round = round_;
        said_[static_cast<std::size_t>(rank)] = std::move(value);
        if (++come_ == size()) {
            heard_ = said_;
            come_ = 0;
            ++round_;
            news_.notify_all();
        } else if (!news_.wait_for(lock, std::chrono::seconds(30), [&] { return round_ != round; })) {
            return det::Error{det::codes::transport, "a rank did not come"};
        }
        return heard_;
    }

private:
    std::mutex mutex_;
    std::condition_variable news_;
    std::vector<std::string> said_, heard_;
    int come_ = 0;
    std::uint64_t round_ = 0;
};

class ThreadPeers final : public det::checkpoint::Peers {
public:
    ThreadPeers(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return meeting_.size(); }

    det::Result<std::vector<std::string>> gather(std::string value) override {
        DET_TRY_ASSIGN(auto all, meeting_.exchange(rank_, std::move(value)));
        if (rank_ != 0) all.clear();
        return all;
    }
    det::Result<std::vector<std::string>> allgather(std::string value) override {
        return meeting_.exchange(rank_, std::move(value));
    }
    det::Result<std::string> broadcast(std::string value) override {
        DET_TRY_ASSIGN(auto const all, meeting_.exchange(rank_, std::move(value)));
        return all[0];
    }
    det::Status minimum(std::span<std::int64_t> values) override {
        std::string bytes(reinterpret_cast<char const*>(values.data()), values.size_bytes());
        DET_TRY_ASSIGN(auto const all, meeting_.exchange(rank_, std::move(bytes)));
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
    Meeting& meeting_;
    int rank_;
};

/// `body` as each of so many ranks, at once.
inline void as_ranks(int size, std::function<void(ThreadPeers&)> const& body) {
    Meeting meeting(size);
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < size; ++rank) {
        ranks.emplace_back([&, rank] {
            ThreadPeers peers(meeting, rank);
            body(peers);
        });
    }
}
