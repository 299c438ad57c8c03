#include <det/experiment/nested_launchers.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t script_size_max_bytes = std::size_t{1} << 20;
constexpr std::string_view launchers[] = {"srun", "mpirun", "mpiexec"};
constexpr std::string_view shells[] = {"sh", "bash", "dash", "ksh", "zsh"};
constexpr std::string_view script_extensions[] = {".sh", ".bash", ".sbatch", ".slurm", ".job"};

template <class Names>
bool contains_name(Names const& names, std::string_view name) {
    return std::ranges::find(names, name) != std::end(names);
}

/// The words of a line of a shell script, without its comment. Quotes are not interpreted.
std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view separators = " \t;&|(){}`";
    std::vector<std::string_view> words;
    while (!line.empty()) {
        auto const begin = line.find_first_not_of(separators);
        if (begin == std::string_view::npos || line[begin] == '#') break;
        line.remove_prefix(begin);
        auto const end = std::min(line.find_first_of(separators), line.size());
        words.push_back(line.substr(0, end));
        line.remove_prefix(end);
    }
    return words;
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::optional<std::string_view> find_launcher_in(std::string_view line) {
    auto const words = words_of(line);
    auto const found =
        std::ranges::find_if(words, [](auto word) { return contains_name(launchers, base_name(word)); });
    if (found == words.end()) return std::nullopt;
    return *found;
}

Error launcher_warning(std::string_view launcher) {
    return {codes::not_supported,
            fmt::format("'{}' in the entrypoint: it would start all ranks once on each node", launcher),
            "start the ranks by 'det-launch torch_distributed -- CMD', 'det-launch mpi -- CMD' or "
            "slurm.launch: rank; for one node of the run, give srun --nodes=1"};
}

Error directive_warning() {
    return {codes::not_supported, "the #SBATCH lines of an entrypoint are not read",
            "write the resources into the configuration: resources.slots_per_trial, slurm.pool, "
            "slurm.sbatch_args"};
}

Error at_line(Error error, std::string const& file, int number, std::string_view line,
              std::string_view word) {
    SourceSpan span{file, number, static_cast<int>(word.data() - line.data()) + 1,
                    static_cast<int>(word.size()), std::string(line)};
    error.where = std::move(span);
    return error;
}

/// Whether the file is a shell script: by its name, its first line, or the shell that is called with it.
bool is_shell_script(fs::path const& file, std::string_view text, std::string_view word_before) {
    if (contains_name(script_extensions, file.extension().string())) return true;
    if (contains_name(shells, base_name(word_before))) return true;
    auto const first_line = text.substr(0, text.find('\n'));
    if (!first_line.starts_with("#!")) return false;
    return std::ranges::any_of(words_of(first_line.substr(2)),
                               [](auto word) { return contains_name(shells, base_name(word)); });
}

std::vector<std::string> entrypoint_words(config::Entrypoint const& entrypoint) {
    if (auto const* list = std::get_if<std::vector<std::string>>(&entrypoint)) return *list;
    std::vector<std::string> words;
    for (auto const line : split(std::get<std::string>(entrypoint), '\n')) {
        for (auto const word : words_of(line)) words.emplace_back(word);
    }
    return words;
}

/// Warns of a launcher that is the entrypoint's own command.
void warn_of_own_launcher(std::vector<std::string> const& words, Diagnostics& found) {
    auto const hit = std::ranges::find_if(
        words, [](auto const& word) { return contains_name(launchers, base_name(word)); });
    if (hit != words.end()) found.warn(launcher_warning(*hit));
}

}  // namespace

void warn_of_batch_lines(std::string_view script, std::string const& file, Diagnostics& found) {
    bool has_launcher = false, has_directive = false;
    int number = 0;
    for (auto const line : split(script, '\n')) {
        ++number;
        if (!has_directive && line.starts_with("#SBATCH")) {
            has_directive = true;
            found.warn(at_line(directive_warning(), file, number, line, line.substr(0, 7)));
        }
        if (has_launcher) continue;
        if (auto const launcher = find_launcher_in(line)) {
            has_launcher = true;
            found.warn(at_line(launcher_warning(*launcher), file, number, line, *launcher));
        }
    }
}

void warn_of_nested_launchers(config::Entrypoint const& entrypoint, std::span<fs::path const> directories,
                              Diagnostics& found) {
    auto const words = entrypoint_words(entrypoint);
    warn_of_own_launcher(words, found);
    for (std::size_t i = 0; i < words.size(); ++i) {
        for (auto const& directory : directories) {
            auto const file = directory / words[i];
            std::error_code error;
            if (!fs::is_regular_file(file, error)) continue;
            auto const text = read_file(file, script_size_max_bytes);
            if (text && is_shell_script(file, *text, i > 0 ? words[i - 1] : ""))
                warn_of_batch_lines(*text, file.lexically_normal(), found);
            break;
        }
    }
}

}  // namespace det::experiment
