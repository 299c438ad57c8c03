#include <det/foundation/bytes.hpp>
#include <det/foundation/foreign_tree.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/journal/pack_summary.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::journal {
namespace {

constexpr std::string_view pack_magic{"detpack\0", 8};
constexpr std::uint32_t pack_version = 1;
constexpr DocumentKind pack_document{"experiment-pack", 1};
constexpr std::size_t pack_preamble_bytes = 16;  // magic, version, size of the summary
constexpr std::uint32_t pack_summary_limit_bytes = 64U << 20;

struct StateName {
    DependencyState state;
    std::string_view name;
};
constexpr std::array<StateName, 3> state_names{{{DependencyState::open, "open"},
                                                {DependencyState::ended_well, "ended-well"},
                                                {DependencyState::ended_badly, "ended-badly"}}};

std::string_view name_of(DependencyState state) {
    return std::ranges::find(state_names, state, &StateName::state)->name;
}

/// An unknown word counts as an experiment that has not completed.
DependencyState parse_state(std::string const& name) {
    auto const found = std::ranges::find(state_names, name, &StateName::name);
    return found == state_names.end() ? DependencyState::ended_badly : found->state;
}

PackSummary summary_of(Json const& body) {
    PackSummary summary;
    summary.experiment = {body.at("experiment").get<std::uint32_t>()};
    summary.spec = body.at("spec").get<std::string>();
    for (auto const& [uuid, sums] : body.at("manifest_sums").items())
        summary.manifest_sums[uuid] = sums.get<std::vector<std::string>>();
    summary.state = parse_state(body.at("state").get<std::string>());
    for (auto const& trial : body.at("trials")) {
        summary.trials[trial.at("trial").get<std::uint32_t>()] =
            parse_state(trial.at("state").get<std::string>());
    }
    return summary;
}

/// Reads a part of the file. codes::damaged if the file ends before it.
Result<std::string> read_part(PackHead const& pack, std::uint64_t at, std::size_t size_bytes) {
    std::string bytes(size_bytes, '\0');
    for (std::size_t done = 0; done < size_bytes;) {
        auto const count =
            ::pread(pack.file.get(), bytes.data() + done, size_bytes - done, static_cast<off_t>(at + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return os_error(fmt::format("read '{}'", pack.path.string()), errno);
        if (count == 0)
            return Error{codes::damaged, fmt::format("the pack '{}' is cut short", pack.path.string())};
        done += static_cast<std::size_t>(count);
    }
    return bytes;
}

/// Opens a pack in the root of another user. `path` may be a symbolic link; its target must belong to
/// `owner`.
Result<UniqueFd> open_foreign_pack(std::filesystem::path const& path, uid_t owner) {
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0)
        return os_error(fmt::format("open '{}'", path.string()), errno);
    if (!S_ISREG(info.st_mode))
        return Error{codes::not_a_file, fmt::format("'{}' is not a regular file", path.string())};
    DET_TRY(check_foreign_owner(info, path, owner));
    return file;
}

/// The file to which the name `pack` leads; nullopt if there is none.
Result<std::optional<std::filesystem::path>> find_pack(std::filesystem::path const& directory) {
    auto const path = directory / ExperimentLayout::pack_name;
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return std::optional<std::filesystem::path>();
        return os_error(fmt::format("open '{}'", path.string()), errno);
    }
    if (!S_ISLNK(info.st_mode)) return std::optional(path);
    std::error_code failure;
    auto target = std::filesystem::read_symlink(path, failure);
    if (failure) return os_error(fmt::format("read '{}'", path.string()), failure.value());
    if (target.is_absolute()) return std::optional(std::move(target));
    return Error{codes::damaged, fmt::format("'{}' leads to '{}', which is not an absolute path",
                                             path.string(), target.string())};
}

}  // namespace

bool is_pack(std::string_view bytes) { return bytes.starts_with(pack_magic); }

std::string render_pack_head(PackSummary const& summary) {
    auto trials = Json::array();
    for (auto const& [trial, state] : summary.trials)
        trials.push_back({{"trial", trial}, {"state", name_of(state)}});
    auto const document = render_document(pack_document, Json{{"experiment", summary.experiment.value},
                                                              {"spec", summary.spec},
                                                              {"manifest_sums", Json(summary.manifest_sums)},
                                                              {"state", name_of(summary.state)},
                                                              {"trials", std::move(trials)}});
    std::string head(pack_magic);
    append_value(head, pack_version);
    append_value(head, static_cast<std::uint32_t>(document.size()));
    return head + document;
}

Result<PackHead> read_pack_head(UniqueFd file, std::filesystem::path path) {
    PackHead pack{std::move(file), std::move(path), {}, 0};
    auto const preamble = read_part(pack, 0, pack_preamble_bytes);
    if (!preamble || !is_pack(*preamble)) {
        if (!preamble && preamble.error().code != codes::damaged) return preamble.error();
        return Error{codes::damaged, fmt::format("'{}' is no pack of an experiment", pack.path.string())};
    }
    if (auto const version = read_value<std::uint32_t>(*preamble, pack_magic.size()); version != pack_version)
        return Error{codes::newer_format,
                     fmt::format("the pack '{}' has version {}; this program reads version {}",
                                 pack.path.string(), version, pack_version)};
    auto const size_bytes = read_value<std::uint32_t>(*preamble, pack_magic.size() + sizeof pack_version);
    if (size_bytes > pack_summary_limit_bytes)
        return Error{codes::damaged,
                     fmt::format("the pack '{}' claims a head of {} bytes", pack.path.string(), size_bytes)};
    DET_TRY_ASSIGN(auto const text, read_part(pack, pack_preamble_bytes, size_bytes));
    auto body = parse_document(pack_document, text);
    if (!body) return std::move(body).error().while_doing(fmt::format("reading '{}'", pack.path.string()));
    DET_TRY_ASSIGN(pack.summary, decode_json(pack.path.string(), [&] { return summary_of(*body); }));
    pack.size_bytes = pack_preamble_bytes + size_bytes;
    return pack;
}

Result<std::optional<PackHead>> open_pack(std::filesystem::path const& directory) {
    DET_TRY_ASSIGN(auto path, find_pack(directory));
    if (!path) return std::optional<PackHead>();
    auto const owner = foreign_owner_of(directory);
    DET_TRY_ASSIGN(auto file, owner ? open_foreign_pack(*path, *owner) : open_trusted_file(*path));
    DET_TRY_ASSIGN(auto head, read_pack_head(std::move(file), *std::move(path)));
    return std::optional(std::move(head));
}

Result<std::optional<PackSummary>> find_pack_summary(ExperimentLayout const& experiment) {
    DET_TRY_ASSIGN(auto head, open_pack(experiment.path()));
    return head ? std::optional(std::move(head->summary)) : std::nullopt;
}

Error packed_error(std::filesystem::path const& directory) {
    auto const id = directory.filename().string();
    return {codes::experiment_packed, fmt::format("experiment {} is packed", id),
            fmt::format("unpack it first with 'det-submit experiment archive --unpack {}'", id)};
}

Status require_not_packed(ExperimentLayout const& experiment) {
    if (path_exists(experiment.pack())) return packed_error(experiment.path());
    return Ok{};
}

Status require_readable(RootLayout const& root, ExperimentId id) {
    auto const directory = root.experiment(id);
    if (!root.places()) return require_not_packed(ExperimentLayout(directory));
    auto const place = root.places()->find(directory);
    return place ? Status(Ok{}) : place.error();
}

}  // namespace det::journal
