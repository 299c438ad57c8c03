#pragma once
#include <det/checkpoint/store.hpp>

namespace det::checkpoint {

/// Keeps checkpoints as directories of a file system that all nodes mount: ROOT/UUID/.
class SharedFsStore final : public Store {
public:
    explicit SharedFsStore(std::filesystem::path root) : root_(std::move(root)) {}

    std::string address_of(std::string const& uuid) const override { return path_of(uuid).string(); }
    Result<std::filesystem::path> create_directory(std::string const& uuid) override;
    bool has_shared_directory() const override { return true; }
    Status put_files(std::string const& uuid, std::span<CheckpointFile> files) override;
    /// Makes a hard link.
    Result<bool> share_file(std::string const& from, std::string const& uuid,
                            std::string const& path) override;
    Status write_manifest(CheckpointManifest const& manifest, std::string const& text,
                          MayCommit const& may_commit) override;
    Result<std::string> read_manifest_text(std::string const& uuid) const override;
    Status check_files(CheckpointManifest const& manifest, Selector const& selector) const override;
    Result<std::filesystem::path> fetch(CheckpointManifest const& manifest,
                                        Selector const& selector) const override;
    Result<std::vector<std::string>> list() const override;
    Status remove(std::string const& uuid) override;

    std::filesystem::path path_of(std::string const& uuid) const { return root_ / uuid; }

private:
    bool checks_owners() const override { return true; }
    Status replace_manifest(std::string const& uuid, std::string const& text) override;
    Status remove_file(std::string const& uuid, std::string const& path) override;

    std::filesystem::path root_;
};

}  // namespace det::checkpoint
