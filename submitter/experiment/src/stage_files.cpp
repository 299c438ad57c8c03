#include <det/experiment/stage_files.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include "private_cache.hpp"

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t hash_cache_limit_bytes = std::size_t{1} << 20;
constexpr std::size_t remembered_files_max = 1000;
constexpr std::uint64_t slow_to_hash_bytes = std::uint64_t{256} << 20;

std::string absolute_path(std::string const& written, yaml::Location const& where, PathBases const& bases) {
    fs::path const path(written);
    if (path.is_absolute()) return path.lexically_normal();
    if (written.starts_with("~/") && !bases.home.empty())
        return (bases.home / written.substr(2)).lexically_normal();
    bool const is_of_file = where.is_written() && where.source->name() != "--config";
    auto const directory = is_of_file ? fs::path(where.source->name()).parent_path() : fs::path();
    return (bases.current / directory / path).lexically_normal();
}

/// A copy of a map with another value for one of its keys.
yaml::Node with_value(yaml::Node const& map, std::string_view key, yaml::Node const& value) {
    auto entries = map.entries();
    for (auto& entry : entries)
        if (entry.key == key) entry.value = value;
    return {std::move(entries), map.location()};
}

yaml::Node const* find_stage_list(yaml::Node const& config) {
    auto const* const slurm = config.find("slurm");
    auto const* const list = slurm != nullptr ? slurm->find("stage") : nullptr;
    return list != nullptr && list->is_list() ? list : nullptr;
}

/// What tells a file from what it was before, without reading it.
struct FileIdentity {
    std::uint64_t size_bytes = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;  // ctime, which programs that keep the other time can't set
    std::uint64_t inode = 0;
    friend bool operator==(FileIdentity const&, FileIdentity const&) = default;
};

std::int64_t to_ns(timespec const& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

FileIdentity identity_of(struct stat const& facts) {
    return {static_cast<std::uint64_t>(facts.st_size), to_ns(facts.st_mtim), to_ns(facts.st_ctim),
            facts.st_ino};
}

/// The hashes of files that have not changed since they were read.
class HashMemory {
public:
    HashMemory(fs::path directory, UtcTime now)
        : file_(directory.empty() ? fs::path() : directory / "staged-files.json"), now_(now) {
        auto const json = file_.empty() ? std::nullopt : read_private_cache(file_, hash_cache_limit_bytes);
        if (json && json->is_object()) known_ = *json;
    }

    std::optional<std::string> find(std::string const& path, FileIdentity const& identity) const {
        if (!known_.contains(path)) return std::nullopt;
        auto const& entry = known_[path];
        bool const is_entry = entry.is_array() && entry.size() == 5 && entry[4].is_string() &&
                              std::all_of(entry.begin(), entry.begin() + 4,
                                          [](Json const& number) { return number.is_number_integer(); });
        if (!is_entry) return std::nullopt;
        FileIdentity const known{entry[0].get<std::uint64_t>(), entry[1].get<std::int64_t>(),
                                 entry[2].get<std::int64_t>(), entry[3].get<std::uint64_t>()};
        return known == identity ? std::optional(entry[4].get<std::string>()) : std::nullopt;
    }

    /// Does nothing for a file that has just been written: it may change again without another time.
    void add(std::string const& path, FileIdentity const& identity, std::string const& sha256) {
        constexpr std::int64_t resolution_ns = 2'000'000'000;
        auto const newest_ns = std::max(identity.modified_ns, identity.changed_ns);
        if (file_.empty() || now_.microseconds * 1000 - newest_ns < resolution_ns) return;
        if (known_.size() >= remembered_files_max) known_ = Json::object();
        known_[path] = Json::array(
            {identity.size_bytes, identity.modified_ns, identity.changed_ns, identity.inode, sha256});
        write_private_cache(file_, known_);
    }

private:
    fs::path file_;
    UtcTime now_;
    Json known_ = Json::object();
};

Result<std::string> hash_file(int fd, std::string const& path) {
    std::vector<char> block(std::size_t{1} << 20);
    Sha256 hash;
    for (;;) {
        auto const count = ::read(fd, block.data(), block.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return os_error(fmt::format("read '{}'", path), errno);
        if (count == 0) return hash.finish();
        hash.update({block.data(), static_cast<std::size_t>(count)});
    }
}

Error absent_file(std::string const& path, SourceSpan const& where) {
    fs::path const file(path);
    auto const names = list_directory(file.parent_path()).value_or(std::vector<std::string>());
    std::vector<std::string_view> const candidates(names.begin(), names.end());
    auto const nearest = nearest_word(file.filename().native(), candidates);
    return {codes::no_such_file, fmt::format("slurm.stage: there is no file '{}'", path),
            nearest ? fmt::format("'{}' is there", (file.parent_path() / *nearest).string())
                    : "paths begin at the directory of the file that names them",
            where};
}

/// Opens the file, and hashes it unless its hash is known.
Result<StagedFile> describe_file(std::string const& path, SourceSpan const& where, HashMemory& memory,
                                 Context& context) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file && (errno == ENOENT || errno == ENOTDIR)) return absent_file(path, where);
    struct stat facts {};
    if (!file || ::fstat(file.get(), &facts) != 0) {
        auto error = os_error(fmt::format("read '{}' of slurm.stage", path), errno);
        error.where = where;
        return error;
    }
    if (S_ISDIR(facts.st_mode))
        return Error{codes::not_a_file, fmt::format("slurm.stage: '{}' is a directory", path),
                     fmt::format("pack it: tar --zstd -cf {1}.tar.zst -C {0} .", quote_for_shell(path),
                                 quote_for_shell(fs::path(path).filename().string())),
                     where};
    if (!S_ISREG(facts.st_mode))
        return Error{codes::not_a_file, fmt::format("slurm.stage: '{}' is no regular file", path), "", where};
    auto const identity = identity_of(facts);
    StagedFile staged{path, identity.size_bytes, ""};
    if (auto known = memory.find(path, identity)) {
        staged.sha256 = *std::move(known);
        return staged;
    }
    if (staged.size_bytes >= slow_to_hash_bytes)
        context.on_message(
            fmt::format("stage: reading '{}' ({}) once for its hash", path, format_size(staged.size_bytes)));
    DET_TRY_ASSIGN(staged.sha256, hash_file(file.get(), path));
    if (::fstat(file.get(), &facts) != 0 || identity_of(facts) != identity)
        return Error{codes::damaged, fmt::format("slurm.stage: '{}' changed while it was read", path),
                     "repeat the command when it is complete", where};
    memory.add(path, identity, staged.sha256);
    return staged;
}

/// Two files of the same name on the nodes, and files that the limit does not allow.
void check_staged(std::vector<StagedFile> const& files, std::vector<SourceSpan> const& spans,
                  std::optional<std::uint64_t> limit, Diagnostics& found) {
    std::map<std::string, std::string> names;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
        auto const& path = files[i].path;
        total += files[i].size_bytes;
        auto const [other, is_new] = names.emplace(staged_name(path), path);
        if (!is_new)
            found.report(Error{codes::bad_value,
                               fmt::format("slurm.stage: '{}' and '{}' would both be '{}' on the nodes",
                                           other->second, path, other->first),
                               "give one another name", spans[i]});
    }
    if (!limit || total <= *limit) return;
    auto const largest = std::ranges::max_element(files, {}, &StagedFile::size_bytes);
    found.report(Error{
        codes::bad_value,
        fmt::format(
            "slurm.stage: its files have {}, more than slurm.stage_limit, {}; the largest is '{}' ({})",
            format_size(total), format_size(*limit), largest->path, format_size(largest->size_bytes)),
        "stage less, or raise slurm.stage_limit", spans[static_cast<std::size_t>(largest - files.begin())]});
}

}  // namespace

yaml::Node with_absolute_stage(yaml::Node const& config, PathBases const& bases) {
    auto const* const list = find_stage_list(config);
    if (list == nullptr) return config;
    yaml::Node::List items;
    for (auto const& item : list->items()) {
        bool const is_path = item.is_text() && !item.text()->empty();
        auto absolute =
            is_path ? yaml::Node(yaml::Node::Scalar(absolute_path(*item.text(), item.location(), bases)),
                                 item.location())
                    : item;
        // Two spellings of a path name one file.
        if (std::ranges::find(items, absolute) == items.end()) items.push_back(std::move(absolute));
    }
    auto const slurm =
        with_value(*config.find("slurm"), "stage", yaml::Node(std::move(items), list->location()));
    return with_value(config, "slurm", slurm);
}

Result<std::vector<StagedFile>, Diagnostics> find_staged_files(config::ExperimentConfig const& config,
                                                               Context& context) {
    std::vector<StagedFile> files;
    auto const* const list = find_stage_list(config.effective);
    if (list == nullptr || list->items().empty()) return files;
    HashMemory memory(context.cache, context.clock.now());
    Diagnostics found;
    std::vector<SourceSpan> spans;
    for (auto const& item : list->items()) {
        auto const where = item.location().span().value_or(SourceSpan{});
        auto file = describe_file(*item.text(), where, memory, context);
        if (!file) {
            found.report(std::move(file).error());
            continue;
        }
        files.push_back(*std::move(file));
        spans.push_back(where);
    }
    auto const* const limit = config.effective.find("slurm")->find("stage_limit");
    bool const has_limit = limit != nullptr && limit->integer() != nullptr;
    check_staged(files, spans,
                 has_limit ? std::optional(static_cast<std::uint64_t>(*limit->integer())) : std::nullopt,
                 found);
    if (found.has_errors()) return found;
    return files;
}

}  // namespace det::experiment
