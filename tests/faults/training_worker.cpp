// training_worker STORE STEPS: two ranks that train from the newest checkpoint in the store to step STEPS and
// save after each step. Prints "resumed STEP" and at the end "final CHECKSUMS". A failed save does not stop
// the training.
#include <det/checkpoint/load.hpp>
#include <det/checkpoint/saver.hpp>
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/bytes.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <iostream>

#include "thread_peers.hpp"
#include "worker_state.hpp"

namespace {

using namespace det;
using namespace det::checkpoint;

/// The committed checkpoints, newest first.
Result<std::vector<std::string>> list_newest_first(Store const& store) {
    std::vector<std::pair<std::uint64_t, std::string>> found;
    DET_TRY_ASSIGN(auto const uuids, store.list());
    for (auto const& uuid : uuids) {
        auto const manifest = store.load_manifest(uuid);
        if (!manifest && manifest.error().code == codes::no_such_checkpoint) continue;
        if (!manifest) return manifest.error();
        found.emplace_back(manifest->steps_completed, uuid);
    }
    std::ranges::sort(found, std::greater());
    std::vector<std::string> newest_first;
    for (auto& [steps, uuid] : found) newest_first.push_back(std::move(uuid));
    return newest_first;
}

/// The weights of rank 1 change in every third step only. In the other steps its shard is shared with the
/// checkpoint before.
void train(std::vector<std::int64_t>& weights, int rank, std::uint64_t step) {
    constexpr std::uint64_t idle_steps = 3;
    if (rank == 1 && step % idle_steps != 0) return;
    for (auto& weight : weights)
        weight = static_cast<std::int64_t>(static_cast<std::uint64_t>(weight) * 6364136223846793005u + step);
}

Status run_rank(ThreadPeers& peers, Store& store, std::vector<std::string> const& newest_first,
                std::uint64_t steps) {
    WorkerState own(peers.rank(), 1);
    DET_TRY_ASSIGN(auto const resumed, load(peers, store, newest_first, own.state, OnDamage::fail));
    auto step = resumed ? resumed->manifest.steps_completed : 0;
    if (peers.is_chief()) std::cout << "resumed " << step << std::endl;
    auto options = options_for_cores(2);
    options.block_size_bytes = 16'384;
    options.share_unchanged = true;
    Saver saver(peers, store, options);
    while (step < steps) {
        train(own.values, peers.rank(), ++step);
        DET_TRY(saver.save({"1.0.0", step, {}, Json::object()}, own.state));
        DET_TRY(saver.poll());
    }
    DET_TRY(saver.finish());
    auto const sum = crc32c(std::as_bytes(std::span<std::int64_t const>(own.values)));
    DET_TRY_ASSIGN(auto const sums, peers.gather(format_hex32(sum)));
    if (peers.is_chief()) std::cout << "final " << sums[0] << ' ' << sums[1] << std::endl;
    return Ok{};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    SharedFsStore store(argv[1]);
    auto const newest_first = list_newest_first(store);
    if (!newest_first) return 1;
    std::atomic<bool> failed = false;
    as_ranks(2, [&](ThreadPeers& peers) {
        auto const result =
            run_rank(peers, store, *newest_first, static_cast<std::uint64_t>(std::atoll(argv[2])));
        if (result) return;
        failed = true;
        std::cerr << result.error().message << '\n';
    });
    return failed ? 1 : 0;
}
