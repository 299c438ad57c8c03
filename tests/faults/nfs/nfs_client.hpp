#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "fuse_channel.hpp"
#include "lost_replies.hpp"
#include "remote_inode.hpp"

namespace det::faults {

struct NfsOptions {
    std::chrono::seconds cache = std::chrono::seconds(30);       // mount option actimeo
    std::chrono::seconds write_back = std::chrono::seconds(30);  // age at which the kernel writes dirty data
};

/// What a power cut has dropped.
struct DroppedData {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
};

/// The NFS client of one host; a local directory is the server. Several of them with one directory are
/// several hosts. README.md says what it guarantees. Not thread-safe.
class NfsClient {
public:
    /// \param root a descriptor of the served directory
    NfsClient(UniqueFd root, NfsOptions options);
    ~NfsClient();

    FuseAnswer handle(FuseRequest const& request);
    /// Writes data of more than a certain age to the server. Returns answers to requests that have waited.
    std::vector<std::pair<std::uint64_t, FuseAnswer>> tick();
    /// Writes all data to the server.
    void write_all_back();
    /// Drops what the server does not have, as a power cut does.
    DroppedData drop_dirty_data();
    LostReplies& lost_replies() { return lost_replies_; }

private:
    using Inode = InodeTable::Pointer;
    struct OpenFile;
    struct WaitingLock {
        std::uint64_t request = 0, file = 0;
        int operation = 0;
    };

    SteadyTime valid_until() const { return std::chrono::steady_clock::now() + options_.cache; }
    static FuseAnswer initialise(FuseRequest const& request);

    // nfs_client.cpp: attributes and data.
    int revalidate(Inode const& inode);
    FuseAnswer answer_entry(Inode const& inode);
    FuseAnswer look_up(FuseRequest const& request);
    FuseAnswer look_up_on_server(Inode const& directory, std::string const& name);
    FuseAnswer forget(FuseRequest const& request);
    FuseAnswer get_attributes(FuseRequest const& request);
    FuseAnswer set_attributes(FuseRequest const& request);
    int change_attributes(Inode const& inode, fuse_setattr_in const& wanted);
    FuseAnswer open_file(FuseRequest const& request);
    std::uint64_t add_open_file(Inode const& inode, std::uint32_t flags);
    FuseAnswer read_file(FuseRequest const& request);
    FuseAnswer write_file(FuseRequest const& request);
    int write_back(RemoteInode& inode);
    FuseAnswer flush_file(FuseRequest const& request);
    FuseAnswer sync_file(FuseRequest const& request);
    FuseAnswer release_file(FuseRequest const& request);
    FuseAnswer lock_file(FuseRequest const& request);
    FuseAnswer try_lock(WaitingLock const& lock);
    FuseAnswer interrupt(FuseRequest const& request);
    FuseAnswer describe_file_system(FuseRequest const& request);

    // nfs_names.cpp: directories.
    template <class Operation>
    int change_directory(Inode const& directory, std::string const& name, Operation const& operation);
    template <class Call>
    FuseAnswer make_entry(FuseRequest const& request, std::string const& name, Call const& call);
    FuseAnswer make_directory(FuseRequest const& request);
    FuseAnswer make_node(FuseRequest const& request);
    FuseAnswer make_symbolic_link(FuseRequest const& request);
    FuseAnswer make_link(FuseRequest const& request);
    FuseAnswer create_file(FuseRequest const& request);
    FuseAnswer remove_file(FuseRequest const& request);
    FuseAnswer remove_directory(FuseRequest const& request);
    FuseAnswer rename_entry(FuseRequest const& request);
    bool hide_if_open(Inode const& directory, std::string const& name);
    FuseAnswer read_link(FuseRequest const& request);
    FuseAnswer open_directory(FuseRequest const& request);
    FuseAnswer list_directory(FuseRequest const& request);
    FuseAnswer release_directory(FuseRequest const& request);
    FuseAnswer sync_directory(FuseRequest const& request);

    struct Handler {
        std::uint32_t operation;
        FuseAnswer (NfsClient::*handle)(FuseRequest const&);
    };
    static Handler const handlers[];

    NfsOptions options_;
    InodeTable inodes_;
    LostReplies lost_replies_;
    std::map<std::uint64_t, std::unique_ptr<OpenFile>> open_files_;
    std::map<std::uint64_t, std::vector<std::string>> open_directories_;  // with fuse_dirents
    std::uint64_t last_handle_ = 0, last_hidden_ = 0;
    std::vector<WaitingLock> waiting_locks_;
};

/// Converts for the kernel.
fuse_attr to_fuse(struct stat const& attributes);

}  // namespace det::faults
