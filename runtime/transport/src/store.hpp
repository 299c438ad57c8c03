#pragma once
#include <map>
#include <set>

#include "frame_server.hpp"

namespace det::transport {

// The requests of a TcpBootstrap to its store, and the replies. A client waits for the reply before it sends
// the next request.

enum class StoreVerb : char { put = 'P', get = 'G', gather = 'A' };
enum class StoreReply : char { done = 'D', failed = 'F' };

std::string render_put(std::string_view key, std::string_view value);
std::string render_get(Rank from, std::string_view key);
std::string render_gather(std::string_view value);

/// Parses the values of all ranks from the reply to a gather.
std::optional<std::vector<std::string>> parse_gathered(std::string_view text, int count);

/// Keeps the values that ranks put, and answers their requests. A request that waits for a rank fails when
/// that rank leaves.
class Store final : public FrameHandler {
public:
    /// The largest frame that a client may send.
    static constexpr std::size_t frame_limit_bytes = std::size_t{66} << 10;

    explicit Store(int size) : size_(size) {}
    bool on_frame(Rank from, std::string_view frame, Post const& post) override;
    void on_left(Rank rank, Post const& post) override;

private:
    using Key = std::pair<int, std::string>;

    bool on_put(Rank from, std::string_view request, Post const& post);
    bool on_get(Rank from, std::string_view request, Post const& post);
    bool on_gather(Rank from, std::string_view request, Post const& post);
    void finish_gather(Post const& post);
    void fail_gather(Post const& post);

    int size_;
    std::map<Key, std::string> values_;
    std::size_t stored_bytes_ = 0;
    std::map<Key, std::vector<Rank>> awaited_;
    std::map<int, std::string> gathered_;  // by rank: the values of the current gather
    std::set<int> left_;
};

}  // namespace det::transport
