#include <det/checkpoint/peers.hpp>

#include <fmt/format.h>

#include "error_message.hpp"

namespace det::checkpoint {

Status agree(Peers& peers, Status const& own) {
    DET_TRY_ASSIGN(auto const all, peers.allgather(own ? "" : render_error(own.error())));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].empty()) continue;
        auto error = parse_error(all[rank]);
        return peers.size() == 1 ? error : std::move(error).noting(fmt::format("rank {} says so", rank));
    }
    return Ok{};
}

}  // namespace det::checkpoint
