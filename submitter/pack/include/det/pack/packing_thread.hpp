#pragma once
#include <det/pack/pack.hpp>

#include <memory>

namespace det::pack {

/// Packs a tree in a thread of its own, so that the caller can wait for something else meanwhile.
class PackingThread {
public:
    /// Starts pack_tree().
    /// \param tree must outlive this object
    PackingThread(ContextTree const& tree, std::filesystem::path contexts);
    /// Waits for the end of the thread and removes the archive unless join() took it.
    ~PackingThread();

    /// Waits for the end of the thread. Returns the result of pack_tree(). Call it once.
    Result<PackedTree> join();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace det::pack
