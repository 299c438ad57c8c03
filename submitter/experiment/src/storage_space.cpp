#include <det/experiment/storage_space.hpp>
#include <det/foundation/find_program.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "make_spec.hpp"

namespace det::experiment {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto quota_time_limit = 1s;
constexpr std::uint64_t bytes_min = std::uint64_t{1} << 30;
constexpr std::uint64_t kibibyte = 1024;

/// A number of a quota table. `*` marks one above its limit, brackets one that a server did not confirm.
std::optional<std::uint64_t> parse_amount(std::string_view word) {
    while (!word.empty() && (word.back() == '*' || word.back() == ']')) word.remove_suffix(1);
    if (word.starts_with('[')) word.remove_prefix(1);
    return parse_integer<std::uint64_t>(word);
}

/// The limit that counts: the soft one if it is set, else the hard one. 0: none.
std::uint64_t limit_of(std::uint64_t soft, std::uint64_t hard) { return soft != 0 ? soft : hard; }

/// kilobytes, quota, limit, grace, files, quota, limit, grace.
std::optional<Quota> parse_row(std::string_view file_system, std::span<std::string_view const> columns) {
    constexpr std::size_t amounts[] = {0, 1, 2, 4, 5, 6};
    std::vector<std::uint64_t> numbers;
    if (columns.size() < 7) return std::nullopt;
    for (auto const at : amounts) {
        auto const number = parse_amount(columns[at]);
        if (!number) return std::nullopt;
        numbers.push_back(*number);
    }
    Quota quota{std::string(file_system), {numbers[0] * kibibyte, numbers[3]}, {}};
    quota.limit.bytes = limit_of(numbers[1], numbers[2]) * kibibyte;
    if (auto const files = limit_of(numbers[4], numbers[5]); files != 0) quota.limit.files = files;
    return quota;
}

std::vector<std::string_view> words_of_line(std::string_view line) {
    auto words = split(line, ' ');
    std::erase_if(words, [](auto word) { return trim(word).empty(); });
    return words;
}

/// The path itself, or the nearest directory above it that exists.
fs::path existing(fs::path path) {
    struct stat info {};
    while (::stat(path.c_str(), &info) != 0 && path.has_parent_path() && path != path.parent_path())
        path = path.parent_path();
    return path;
}

std::optional<StorageAmount> query_space(fs::path const& path) {
    struct statvfs info {};
    if (::statvfs(path.c_str(), &info) != 0) return std::nullopt;
    StorageAmount space{static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize, std::nullopt};
    if (info.f_files != 0) space.files = info.f_favail;
    return space;
}

bool is_lustre(fs::path const& path) {
    constexpr long lustre = 0x0BD00BD0;
    struct statfs info {};
    return ::statfs(path.c_str(), &info) == 0 && static_cast<long>(info.f_type) == lustre;
}

/// The device of the file system that holds a path, as `quota` names it: from /proc/self/mountinfo.
std::string device_of(fs::path const& path, std::string_view mounts) {
    std::string_view device;
    std::size_t longest = 0;
    for (auto const line : split_lines(mounts)) {
        auto const dash = line.find(" - ");
        auto const before = words_of_line(line.substr(0, dash));
        if (dash == line.npos || before.size() < 5) continue;
        auto const after = words_of_line(line.substr(dash + 3));
        auto const point = before[4];
        bool const holds =
            path.string().starts_with(point) &&
            (point == "/" || path.string().size() == point.size() || path.string()[point.size()] == '/');
        if (after.size() < 2 || !holds || point.size() < longest) continue;
        longest = point.size();
        device = after[1];
    }
    return std::string(device);
}

/// The answers of the programs that there are, at most one second later.
std::vector<std::vector<Quota>> query_quotas(std::vector<Command> commands, ProcessRunner& runner) {
    for (auto& command : commands) command.timeout = quota_time_limit;
    std::vector<std::vector<Quota>> answers;
    // The exit code of quota is 1 if a limit is exceeded.
    for (auto const& output :
         commands.empty() ? std::vector<Result<ProcessOutput>>() : runner.run_all(commands))
        answers.push_back(output ? parse_quotas(output->out) : std::vector<Quota>());
    return answers;
}

void warn_of_quota(std::vector<Error>& warnings, StoragePlace const& place, Quota const& quota) {
    constexpr char hint[] =
        "checkpoints may fail to be written: remove what you no longer need, or use another "
        "directory";
    auto const is_full = [](std::uint64_t used, std::uint64_t limit) { return used / 9 >= limit / 10; };
    auto const where = fmt::format("{} '{}'", place.name, place.path.string());
    if (quota.limit.bytes != 0 && is_full(quota.used.bytes, quota.limit.bytes))
        warnings.push_back({codes::file_system,
                            fmt::format("{} of your quota of {} are used where {} is",
                                        format_size(quota.used.bytes), format_size(quota.limit.bytes), where),
                            hint});
    auto const files = quota.used.files.value_or(0);
    if (quota.limit.files && is_full(files, *quota.limit.files))
        warnings.push_back({codes::file_system,
                            fmt::format("{} of your quota of {} files are used where {} is", files,
                                        *quota.limit.files, where),
                            hint});
}

}  // namespace

std::vector<Quota> parse_quotas(std::string_view output) {
    std::vector<Quota> quotas;
    std::string_view name;  // of a file system whose numbers are on the next line
    for (auto const line : split_lines(output)) {
        auto const words = words_of_line(line);
        if (words.size() == 1) {
            name = words.front();
            continue;
        }
        std::span<std::string_view const> const all(words);
        auto row = name.empty() || words.empty() ? std::nullopt : parse_row(name, all);
        if (!row && words.size() > 1) row = parse_row(words.front(), all.subspan(1));
        if (row) quotas.push_back(*std::move(row));
        name = {};
    }
    return quotas;
}

std::uint64_t files_of(std::uint32_t trials, int nodes) {
    // As counted: 12 of a trial on one node with one run, one more on each further node, 10 of the
    // experiment.
    return 10 + std::uint64_t{trials} * (12 + static_cast<std::uint64_t>(std::max(0, nodes - 1)));
}

std::vector<Error> find_storage_warnings(std::vector<StoragePlace> const& places,
                                         std::uint64_t files_needed) {
    std::vector<Error> warnings;
    for (auto const& place : places) {
        auto const where = fmt::format("{} '{}'", place.name, place.path.string());
        auto const& space = place.space;
        if (space && space->bytes < bytes_min)
            warnings.push_back(
                {codes::file_system,
                 fmt::format("{} are left on the file system of {}", format_size(space->bytes), where),
                 "checkpoints and logs may fail to be written"});
        if (space && space->files && *space->files < files_needed)
            warnings.push_back(
                {codes::file_system,
                 fmt::format("{} files can still be made on the file system of {}, and the experiment "
                             "makes about {} and those of its checkpoints",
                             *space->files, where, files_needed),
                 "use another file system"});
        for (auto const& quota : place.quotas) warn_of_quota(warnings, place, quota);
    }
    return warnings;
}

std::vector<StoragePlace> inspect_storage(SubmissionRequest const& request, Environment const& environment,
                                          ProcessRunner& runner) {
    std::vector<StoragePlace> places{{"the root", request.root.path()}};
    bool const is_on_host =
        std::holds_alternative<config::SharedFsStorage>(request.config.checkpoint_storage.location);
    fs::path const checkpoints = is_on_host ? checkpoint_path(request.config) : std::string();
    bool const is_in_root = checkpoints.string().starts_with(request.root.path().string() + "/");
    if (!checkpoints.empty() && !is_in_root) places.push_back({"the checkpoint storage", checkpoints});
    auto const mounts = read_file("/proc/self/mountinfo").value_or("");
    std::vector<Command> commands;
    auto const quota = find_program("quota", environment);
    auto const lfs = find_program("lfs", environment);
    if (quota) commands.push_back({{quota->string(), "-w", "-p"}, environment});
    std::vector<StoragePlace*> on_lustre;
    for (auto& place : places) {
        auto const path = existing(place.path);
        place.space = query_space(path);
        if (!lfs || !is_lustre(path)) continue;
        commands.push_back(
            {{lfs->string(), "quota", "-q", "-u", user_name(environment), path.string()}, environment});
        on_lustre.push_back(&place);
    }
    auto const answers = query_quotas(std::move(commands), runner);
    for (auto& place : places) {
        auto const device = device_of(existing(place.path), mounts);
        if (!quota) break;
        for (auto const& limit : answers.front()) {
            if (limit.file_system == device) place.quotas.push_back(limit);
        }
    }
    for (std::size_t i = 0; i < on_lustre.size(); ++i) on_lustre[i]->quotas = answers[i + (quota ? 1 : 0)];
    return places;
}

}  // namespace det::experiment
