#include "scan_tree.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_path.hpp>
#include <det/protocol/directory_layout.hpp>

#include <cerrno>
#include <fmt/format.h>
#include <map>
#include <unistd.h>

namespace det::experiment_pack {
namespace {

namespace fs = std::filesystem;
using Kind = Entry::Kind;

constexpr mode_t all_permissions = 07777;

/// Whether a path is that of secrets.json, of the experiment or of a revision.
bool is_secret(std::string_view path) {
    constexpr std::string_view name = "secrets.json";
    if (path == name) return true;
    auto const parts = split(path, '/');
    return parts.size() == 3 && parts[0] == "revisions" && parts[2] == name;
}

bool stays_in_directory(std::string_view path) {
    return path == ExperimentLayout::pack_name || path.starts_with(temporary_prefix) || is_secret(path);
}

class TreeScan {
public:
    explicit TreeScan(fs::path directory) : directory_(std::move(directory)) {}

    Status scan(std::string const& path) {
        DET_TRY_ASSIGN(auto const info, stat_of(path));
        DET_TRY_ASSIGN(auto entry, entry_of(path, info));
        bool const is_directory = entry.kind == Kind::directory;
        entries_.push_back(std::move(entry));
        if (!is_directory) return Ok{};
        DET_TRY_ASSIGN(auto const names, list_directory(directory_ / path));
        for (auto const& name : names) {
            auto const below = path.empty() ? name : path + "/" + name;
            if (!stays_in_directory(below)) DET_TRY(scan(below));
        }
        return Ok{};
    }
    std::vector<Entry> take() && { return std::move(entries_); }

private:
    std::string text_of(std::string const& path) const {
        return path.empty() ? directory_.string() : (directory_ / path).string();
    }

    Result<struct stat> stat_of(std::string const& path) const {
        struct stat info {};
        if (::lstat(text_of(path).c_str(), &info) != 0)
            return os_error(fmt::format("read '{}'", text_of(path)), errno);
        if (info.st_uid == ::geteuid()) return info;
        return Error{codes::unsafe_owner,
                     fmt::format("'{}' belongs to another user ({})", text_of(path), describe_access(info)),
                     "only files of your own are packed"};
    }

    Result<Entry> entry_of(std::string const& path, struct stat const& info) {
        Entry entry;
        entry.path = path;
        entry.mode = info.st_mode & all_permissions;
        entry.group = info.st_gid;
        entry.modified_ns = modified_ns_of(info);
        if (S_ISDIR(info.st_mode)) {
            entry.kind = Kind::directory;
        } else if (S_ISLNK(info.st_mode)) {
            std::error_code failure;
            entry.kind = Kind::symlink;
            entry.target = fs::read_symlink(text_of(path), failure).string();
            if (failure) return os_error(fmt::format("read '{}'", text_of(path)), failure.value());
        } else if (S_ISREG(info.st_mode)) {
            entry.size_bytes = static_cast<std::uint64_t>(info.st_size);
            if (info.st_nlink > 1) find_first_name(entry, info);
        } else {
            return Error{codes::not_a_file,
                         fmt::format("'{}' is neither a file, a directory nor a link", text_of(path)),
                         "remove it: it can't be packed"};
        }
        return entry;
    }

    /// Makes the entry a hard link if the file has another name in the tree.
    void find_first_name(Entry& entry, struct stat const& info) {
        auto const [first, is_new] = first_names_.try_emplace({info.st_dev, info.st_ino}, entry.path);
        if (is_new) return;
        entry.kind = Kind::hardlink;
        entry.target = first->second;
        entry.size_bytes = 0;
    }

    fs::path directory_;
    std::vector<Entry> entries_;
    std::map<std::pair<dev_t, ino_t>, std::string> first_names_;
};

}  // namespace

std::int64_t modified_ns_of(struct stat const& info) {
    return std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

bool is_unchanged(struct stat const& info, Entry const& entry) {
    switch (entry.kind) {
        case Kind::directory:
            return S_ISDIR(info.st_mode);
        case Kind::symlink:
            return S_ISLNK(info.st_mode) && modified_ns_of(info) == entry.modified_ns;
        case Kind::hardlink:
            return S_ISREG(info.st_mode) && modified_ns_of(info) == entry.modified_ns;
        case Kind::file:
            return S_ISREG(info.st_mode) && modified_ns_of(info) == entry.modified_ns &&
                   static_cast<std::uint64_t>(info.st_size) == entry.size_bytes;
    }
    return false;
}

Result<std::vector<Entry>> scan_tree(fs::path const& directory) {
    TreeScan scan(directory);
    DET_TRY(scan.scan(""));
    return std::move(scan).take();
}

}  // namespace det::experiment_pack
