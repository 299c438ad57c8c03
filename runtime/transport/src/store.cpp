#include "store.hpp"

#include <fmt/format.h>

#include "frame.hpp"

namespace det::transport {
namespace {

/// For all ranks together: enough for half a million worker addresses. The store disconnects a client that
/// exceeds it.
constexpr std::size_t stored_limit_bytes = std::size_t{256} << 20;

std::string begin(StoreVerb verb) { return {static_cast<char>(verb)}; }

std::string reply(StoreReply kind, std::string_view text = {}) {
    return static_cast<char>(kind) + std::string(text);
}

std::string has_left(int rank) { return reply(StoreReply::failed, fmt::format("rank {} has left", rank)); }

}  // namespace

std::string render_put(std::string_view key, std::string_view value) {
    auto request = begin(StoreVerb::put);
    append_text(request, key);
    append_text(request, value);
    return request;
}

std::string render_get(Rank from, std::string_view key) {
    auto request = begin(StoreVerb::get);
    append_value(request, std::int32_t{from.value});
    append_text(request, key);
    return request;
}

std::string render_gather(std::string_view value) {
    auto request = begin(StoreVerb::gather);
    append_text(request, value);
    return request;
}

std::optional<std::vector<std::string>> parse_gathered(std::string_view text, int count) {
    FrameReader reader(text);
    std::vector<std::string> values;
    for (int i = 0; i < count; ++i) {
        auto const value = reader.text();
        if (!value) return std::nullopt;
        values.emplace_back(*value);
    }
    return values;
}

bool Store::on_frame(Rank from, std::string_view frame, Post const& post) {
    if (frame.empty()) return false;
    auto const request = frame.substr(1);
    switch (static_cast<StoreVerb>(frame.front())) {
        case StoreVerb::put:
            return on_put(from, request, post);
        case StoreVerb::get:
            return on_get(from, request, post);
        case StoreVerb::gather:
            return on_gather(from, request, post);
    }
    return false;
}

bool Store::on_put(Rank from, std::string_view request, Post const& post) {
    FrameReader reader(request);
    auto const key = reader.text();
    auto const value = key ? reader.text() : std::nullopt;
    if (!value) return false;
    stored_bytes_ += key->size() + value->size();
    if (stored_bytes_ > stored_limit_bytes) return false;
    Key const place{from.value, *key};
    if (!values_.try_emplace(place, *value).second) {
        post(from, reply(StoreReply::failed, fmt::format("rank {} puts '{}' twice", from.value, *key)));
        return true;
    }
    if (auto const waiting = awaited_.find(place); waiting != awaited_.end()) {
        for (auto const rank : waiting->second) post(rank, reply(StoreReply::done, *value));
        awaited_.erase(waiting);
    }
    post(from, reply(StoreReply::done));
    return true;
}

bool Store::on_get(Rank from, std::string_view request, Post const& post) {
    FrameReader reader(request);
    auto const owner = reader.value<std::int32_t>();
    auto const key = owner ? reader.text() : std::nullopt;
    if (!key || *owner < 0 || *owner >= size_) return false;
    Key const place{*owner, *key};
    if (auto const value = values_.find(place); value != values_.end()) {
        post(from, reply(StoreReply::done, value->second));
    } else if (left_.contains(*owner)) {
        post(from, has_left(*owner));
    } else {
        awaited_[place].push_back(from);
    }
    return true;
}

bool Store::on_gather(Rank from, std::string_view request, Post const& post) {
    FrameReader reader(request);
    auto const value = reader.text();
    if (!value || !gathered_.try_emplace(from.value, *value).second) return false;
    if (!left_.empty()) {
        fail_gather(post);
    } else if (gathered_.size() == static_cast<std::size_t>(size_)) {
        finish_gather(post);
    }
    return true;
}

void Store::finish_gather(Post const& post) {
    std::string all;
    for (auto const& [rank, value] : gathered_) append_text(all, value);
    for (auto const& [rank, value] : gathered_) post({rank}, reply(StoreReply::done, all));
    gathered_.clear();
}

void Store::fail_gather(Post const& post) {
    for (auto const& [rank, value] : gathered_) post({rank}, has_left(*left_.begin()));
    gathered_.clear();
}

void Store::on_left(Rank rank, Post const& post) {
    left_.insert(rank.value);
    gathered_.erase(rank.value);
    fail_gather(post);
    for (auto i = awaited_.begin(); i != awaited_.end();) {
        auto& [place, waiting] = *i;
        std::erase(waiting, rank);
        if (place.first == rank.value) {
            for (auto const other : waiting) post(other, has_left(rank.value));
            waiting.clear();
        }
        i = waiting.empty() ? awaited_.erase(i) : std::next(i);
    }
}

}  // namespace det::transport
