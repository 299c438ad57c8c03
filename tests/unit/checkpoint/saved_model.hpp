#pragma once
#include <det/checkpoint/saver.hpp>
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/protocol/json.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"
#include "thread_peers.hpp"

// Used by tests that save and load a model.
namespace det::checkpoint {

/// The rows of a matrix that belong to a rank.
inline Box rows_of(int rank, int size, std::uint64_t rows, std::uint64_t columns) {
    auto const begin = [&](int r) {
        return rows * static_cast<std::uint64_t>(r) / static_cast<std::uint64_t>(size);
    };
    return {{begin(rank), 0}, {begin(rank + 1) - begin(rank), columns}};
}

inline SaveDescription about(std::uint64_t steps) {
    return {"7.0.0", steps, UtcTime{1}, Json{{"steps_completed", steps}}};
}

template <class Model>
struct StoreFixture {
    TemporaryDirectory directory;
    SharedFsStore store{directory / "checkpoints"};

    /// Saves one checkpoint with `size` ranks. Returns its UUID.
    std::string saved(int size, std::int64_t seed) {
        std::string uuid;
        as_ranks(size, [&](ThreadPeers& peers) {
            Model model(peers.rank(), size);
            Saver saver(peers, store, model.saver_options());
            model.fill(seed);
            must(saver.save(about(static_cast<std::uint64_t>(seed)), model.state()));
            model.fill(-1);  // the save has copied the state
            auto const ended = must(saver.finish());
            if (peers.is_chief()) uuid = ended.at(0).uuid;
        });
        return uuid;
    }
};

}  // namespace det::checkpoint
