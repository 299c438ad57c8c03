#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace det::checkpoint {

/// Where to read a file from. A copy in the page cache is good enough for a reader that goes on to use the
/// bytes, but not for a check of what is on the disk.
enum class ReadFrom : std::uint8_t { disk, page_cache_or_disk };

/// Asked right before a manifest gets its name: whether this is still the one who may commit.
using MayCommit = std::function<Status()>;
/// Which files are wanted, by their path in the checkpoint.
using Selector = std::function<bool(std::string const& path)>;

/// Where checkpoints are kept. A checkpoint is there when its manifest is, which vouches for every file;
/// until then readers take it for absent. Ranks of a run write files side by side, one of them commits.
class Store {
public:
    virtual ~Store() = default;

    /// Where people find a checkpoint: a path, or "s3://bucket/prefix/uuid". It need not be there.
    virtual std::string address_of(std::string const& uuid) const = 0;
    /// The directory on this node into which files of a checkpoint are written; made where it is absent.
    virtual Result<std::filesystem::path> open(std::string const& uuid) = 0;
    /// Whether open() gives all ranks the same directory, on whichever node; else each process has its own.
    virtual bool has_one_directory() const = 0;
    /// Files that were written there, and synced, are in the store now.
    virtual Status put(std::string const& uuid, std::vector<std::string> const& paths) = 0;
    /// In place of put(): the file becomes one of `uuid` as it is in `from`, without its bytes being written
    /// again, and stays when that one is removed. False where the store can't, or `from` has no such file any
    /// more.
    virtual Result<bool> share(std::string const& from, std::string const& uuid, std::string const& path);
    /// Last, when all files were put: the manifest gets its name, if `may_commit` still says Ok. After an
    /// error there is no checkpoint.
    virtual Status publish(CheckpointManifest const& manifest, MayCommit const& may_commit) = 0;
    /// The manifest; no_such_checkpoint where none was committed. Files are not read.
    virtual Result<CheckpointManifest> find(std::string const& uuid) const = 0;
    /// A directory where the selected files of a committed checkpoint can be read.
    virtual Result<std::filesystem::path> fetch(CheckpointManifest const& manifest,
                                                Selector const& selector) const = 0;
    /// Of everything that is or was to become a checkpoint.
    virtual Result<std::vector<std::string>> list() const = 0;
    /// The manifest first, so that no moment has half a checkpoint; then all else. Absent is fine.
    virtual Status remove(std::string const& uuid) = 0;

    /// What the manifest says besides its files.
    struct Description {
        std::string uuid;
        std::string run;
        std::uint64_t steps_completed = 0;
        UtcTime time;
        int world_size = 1;
        JsonValue metadata;
    };
    /// What one rank has written into the directory that open() gave: metadata.json is added, every file is
    /// read once for its checksum, synced, put, and published. Links and special files are refused.
    Result<CheckpointManifest> commit(Description const& description, MayCommit const& may_commit);

    /// A checkpoint that was found whole, and the directory where it can be read.
    struct Whole {
        CheckpointManifest manifest;
        std::filesystem::path directory;
    };
    /// Reads every file against the manifest: checkpoint_damaged names the first that is not as it was.
    Result<Whole> fetch_whole(std::string const& uuid, ReadFrom from = ReadFrom::page_cache_or_disk) const;
    /// The same, for who does not read on: what is on the disk.
    Result<CheckpointManifest> verify(std::string const& uuid) const;

    /// Takes files, and tensors that have a part in them, out of a checkpoint. The manifest loses them first:
    /// what it names is there at any moment.
    Status remove_files(std::string const& uuid, std::vector<std::string> const& paths);

private:
    /// Of a checkpoint that is there.
    virtual Status replace_manifest(CheckpointManifest const& manifest) = 0;
    /// Absent is fine.
    virtual Status remove_file(std::string const& uuid, std::string const& path) = 0;
};

}  // namespace det::checkpoint
