// checkpoint_worker STORE SEED [repeat]: saves one checkpoint with two ranks and prints its UUID. With
// `repeat`, writes that fail are repeated. Exit code 0: it is committed.
#include <det/checkpoint/saver.hpp>
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/protocol/json.hpp>

#include <iostream>

#include "thread_peers.hpp"
#include "worker_state.hpp"

int main(int argc, char** argv) {
    using namespace det::checkpoint;
    if (argc < 3) return 2;
    SharedFsStore store(argv[1]);
    if (argc > 3) store.set_write_retry({std::chrono::minutes(1), std::chrono::milliseconds(1)});
    std::atomic<bool> failed = false;
    as_ranks(2, [&](ThreadPeers& peers) {
        auto options = options_for_cores(2);
        options.block_size_bytes = 16'384;
        Saver saver(peers, store, options);
        WorkerState own(peers.rank(), std::atoll(argv[2]));
        auto const begun = saver.save({"1.0.0", 1, {}, det::Json::object()}, own.state);
        auto const ended = saver.finish();
        if (!begun || !ended || ended->size() != 1 || (*ended)[0].error) {
            failed = true;
        } else if (peers.is_chief()) {
            std::cout << begun->uuid << std::flush;
        }
    });
    return failed ? 1 : 0;
}
