#include <det/core/info.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/task_identity.hpp>

#include <fmt/format.h>

namespace det::core {
namespace {

template <class Parse>
auto load(std::filesystem::path const& path, Parse parse) -> decltype(parse(std::string_view{})) {
    DET_TRY_ASSIGN(auto const text, read_file(path));
    auto value = parse(text);
    if (!value) return std::move(value).error().while_doing(fmt::format("reading '{}'", path.string()));
    return value;
}

}  // namespace

Result<std::optional<Info>> load_info(Environment const& environment) {
    auto const run_dir = environment.find_non_empty(variables::run_dir);
    if (!run_dir) return std::optional<Info>();
    Info info;
    info.run_dir = *run_dir;
    auto const files = info.run_dir / info_files::directory;
    DET_TRY_ASSIGN(info.cluster, load(files / info_files::cluster, parse_cluster_info));
    DET_TRY_ASSIGN(info.rendezvous, load(files / info_files::rendezvous, parse_rendezvous_info));
    if (path_exists(files / info_files::trial)) {
        DET_TRY_ASSIGN(info.trial, load(files / info_files::trial, parse_trial_info));
        DET_TRY_ASSIGN(info.spec, load(files / info_files::spec, parse_spec));
        auto const run_path = environment.find_non_empty(variables::run_path);
        if (!run_path) {
            return Error{
                codes::misuse,
                fmt::format("{} is not set, though '{}' is a trial's", variables::run_path, *run_dir),
                "give the ranks the whole environment of the run"};
        }
        info.run_path = *run_path;
    }
    return std::optional(std::move(info));
}

}  // namespace det::core
