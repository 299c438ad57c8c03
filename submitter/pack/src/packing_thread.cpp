#include <det/foundation/start_thread.hpp>
#include <det/pack/packing_thread.hpp>

#include <optional>
#include <thread>

namespace det::pack {

struct PackingThread::State {
    std::optional<Result<PackedTree>> packed;  // written by the thread
    std::jthread thread;
};

PackingThread::PackingThread(ContextTree const& tree, std::filesystem::path contexts)
    : state_(std::make_unique<State>()) {
    state_->thread = start_thread(
        "det-pack", [state = state_.get(), &tree, contexts = std::move(contexts)](std::stop_token const&) {
            state->packed.emplace(pack_tree(tree, contexts));
        });
}

PackingThread::~PackingThread() = default;

Result<PackedTree> PackingThread::join() {
    state_->thread.join();
    return *std::move(state_->packed);
}

}  // namespace det::pack
