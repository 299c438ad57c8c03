#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/sync_file.hpp>
#include <det/pack/context_tree.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace det::pack {

/// A stored context.
struct StoredContext {
    std::string sha256;            // of the uncompressed archive; its name
    std::uint64_t size_bytes = 0;  // of the files in the archive
    bool existed = false;          // the archive was stored before
    bool was_repaired = false;     // the stored archive was damaged and is replaced
};

/// A packed tree whose archive has a temporary name in the directory of contexts.
class PackedTree {
public:
    PackedTree(PackedTree&&) noexcept;
    PackedTree& operator=(PackedTree&&) = delete;
    /// Removes the temporary name.
    ~PackedTree();

    /// Of the uncompressed archive; its name.
    std::string const& sha256() const;
    /// Gives the archive its name, <contexts>/<sha256>.tar.zst, unless it was stored before. The name is
    /// synced to disk, with `syncs` only after syncs->join().
    Result<StoredContext> store(SyncThread* syncs = nullptr);

private:
    friend Result<PackedTree> pack_tree(ContextTree const& tree, std::filesystem::path const& contexts);
    struct State;
    explicit PackedTree(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

/// Packs a listed tree into a temporary file of `contexts`, and waits until its bytes are on the disk unless
/// the archive was stored before. PackedTree::store() names it <contexts>/<sha256>.tar.zst. The same tree
/// gives the same name and is stored once; two processes may pack it at the same time. A file that has
/// changed since the listing is an error. After an error no temporary file is left in `contexts`.
Result<PackedTree> pack_tree(ContextTree const& tree, std::filesystem::path const& contexts);

/// Fills the buffer with the next bytes of an archive; returns their number, 0 at the end.
using ReadArchive = std::function<std::size_t(std::span<char>)>;

/// Stores an archive that another machine has packed as <contexts>/<sha256>.tar.zst. codes::damaged, and
/// nothing is stored, if its contents do not have that hash.
Status receive_context(ReadArchive const& read, std::string const& sha256,
                       std::filesystem::path const& contexts);

}  // namespace det::pack
