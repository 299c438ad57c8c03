// Only what certainly can't run is refused: whatever this file does not understand is accepted.
#include "entrypoint_file.hpp"

#include <det/foundation/count_text.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;
using Words = std::span<std::string const>;

constexpr std::string_view expanded_characters = "$`\\*?[]{}~()<>#!";
constexpr std::string_view launcher_names[] = {"torch_distributed", "horovod", "deepspeed", "mpi",
                                               "tensorflow",        "jax"};
// Launchers of others, whose options are not known here: their first word that ends in .py is the program.
constexpr std::string_view foreign_launchers[] = {"torchrun", "accelerate", "deepspeed"};
constexpr std::string_view harmless_setup[] = {"export", "module", "ml", "unset", "ulimit", "set", "umask"};
constexpr std::size_t names_shown_max = 8;

template <class Names>
bool is_one_of(Names const& names, std::string_view name) {
    return std::ranges::find(names, name) != std::end(names);
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_python(std::string_view program) {
    auto const name = last_part(program);
    return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

bool is_shell(std::string_view program) {
    constexpr std::string_view shell_names[] = {"sh", "bash", "dash", "ksh", "zsh"};
    return is_one_of(shell_names, last_part(program));
}

/// Splits the first command of a shell line into words. Words from the first one that the shell expands are
/// left out. nullopt if it is no list of plain commands: another command may then run instead of it.
std::optional<std::vector<std::string>> first_command(std::string_view line) {
    if (line.find("||") != std::string_view::npos) return std::nullopt;
    std::vector<std::string> words;
    std::string word;
    bool is_in_word = false;
    char quote = 0;
    for (char const c : line) {
        bool const is_quoted = quote != 0;
        if (is_quoted && c == quote) {
            quote = 0;
        } else if (!is_quoted && (c == '\'' || c == '"')) {
            quote = c;
            is_in_word = true;
        } else if (!is_quoted && (c == ' ' || c == '\t')) {
            if (is_in_word) words.push_back(std::exchange(word, {}));
            is_in_word = false;
        } else if (!is_quoted && (c == ';' || c == '&' || c == '|' || c == '\n')) {
            break;
        } else if (quote != '\'' && expanded_characters.find(c) != std::string_view::npos) {
            return words;
        } else {
            word += c;
            is_in_word = true;
        }
    }
    if (quote == 0 && is_in_word) words.push_back(std::move(word));
    return words;
}

bool is_assignment(std::string_view word) {
    auto const equals = word.find('=');
    return equals != std::string_view::npos && equals > 0 &&
           word.substr(0, equals).find('/') == std::string_view::npos;
}

std::optional<std::string> find_file(Words words);

std::optional<std::string> find_in_line(std::string_view line) {
    auto const words = first_command(line);
    return words ? find_file(*words) : std::nullopt;
}

std::optional<std::string> relative_file(std::string_view path) {
    auto normal = fs::path(path).lexically_normal().string();
    if (normal.ends_with('/')) normal.pop_back();
    bool const may_be_elsewhere = normal.empty() || normal == "." || normal == ".." ||
                                  normal.starts_with("../") || normal.starts_with('/');
    return may_be_elsewhere ? std::nullopt : std::optional(normal);
}

/// \param words after the launcher
std::optional<std::string> first_python_file(Words words) {
    for (auto const& word : words) {
        constexpr std::string_view starts_no_file[] = {"-m", "--module", "--no-python", "--no_python"};
        if (is_one_of(starts_no_file, word)) return std::nullopt;
        if (!word.starts_with('-') && word.ends_with(".py")) return relative_file(word);
    }
    return std::nullopt;
}

/// \param words after the interpreter
std::optional<std::string> find_python_file(Words words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        auto const& word = words[i];
        if (!word.starts_with('-')) return relative_file(word);
        if (word == "-X" || word == "-W") {
            ++i;
        } else if (word == "-m" && i + 1 < words.size()) {
            auto const module = std::string_view(words[i + 1]);
            bool const is_torchrun =
                module == "torch.distributed.run" || module == "torch.distributed.launch";
            return is_torchrun ? first_python_file(words.subspan(i + 2)) : std::nullopt;
        } else if (word.find_first_not_of("uOBEsSIvqibdx", 1) != std::string::npos || word.size() == 1) {
            return std::nullopt;
        }
    }
    return std::nullopt;
}

/// \param words after the shell
std::optional<std::string> find_shell_file(Words words) {
    if (words.empty()) return std::nullopt;
    if (words[0] == "-c") return words.size() > 1 ? find_in_line(words[1]) : std::nullopt;
    if (words[0].starts_with('-')) {
        bool const is_plain =
            words[0].size() > 1 && words[0].find_first_not_of("eux", 1) == std::string::npos;
        return is_plain ? find_shell_file(words.subspan(1)) : std::nullopt;
    }
    return relative_file(words[0]);
}

/// \param words after det-launch
std::optional<std::string> find_launched_file(Words words) {
    if (words.empty()) return std::nullopt;
    if (!is_one_of(launcher_names, words[0])) return find_file(words);
    auto rest = words.subspan(1);
    if (rest.empty() || rest[0].starts_with("--trial")) return std::nullopt;
    if (rest[0].starts_with('-')) {
        auto const separator = std::ranges::find(rest, "--");
        if (separator == rest.end()) return std::nullopt;
        rest = rest.subspan(static_cast<std::size_t>(separator - rest.begin()) + 1);
    }
    return find_file(rest);
}

Words without_prefixes(Words words) {
    while (!words.empty() && (words[0] == "exec" || words[0] == "time" || is_assignment(words[0])))
        words = words.subspan(1);
    return words;
}

std::optional<std::string> find_file(Words words) {
    words = without_prefixes(words);
    if (words.empty()) return std::nullopt;
    auto const& program = words[0];
    auto const rest = words.subspan(1);
    bool const is_in_code = program.find('/') != std::string::npos && !program.starts_with('/');
    if (is_in_code) return relative_file(program);
    if (is_python(program)) return find_python_file(rest);
    if (is_shell(program)) return find_shell_file(rest);
    if (last_part(program) == "det-launch") return find_launched_file(rest);
    if (is_one_of(foreign_launchers, last_part(program))) return first_python_file(rest);
    return std::nullopt;
}

/// The word after det-launch that is written as a launcher and is none. A program may stand there too, so the
/// word counts only before `--` or `--trial`, or if it resembles a launcher and a command follows.
std::optional<std::string> find_unknown_launcher(Words words) {
    words = without_prefixes(words);
    if (words.size() < 3 || last_part(words[0]) != "det-launch") return std::nullopt;
    auto const& name = words[1];
    if (name.starts_with('-') || name.find('/') != std::string::npos || is_one_of(launcher_names, name))
        return std::nullopt;
    bool const has_launcher_syntax = words[2] == "--" || words[2].starts_with("--trial");
    bool const is_like_one = nearest_word(name, launcher_names) && find_file(words.subspan(2));
    return has_launcher_syntax || is_like_one ? std::optional(name) : std::nullopt;
}

std::vector<std::string> first_words(config::Entrypoint const& entrypoint) {
    if (auto const* const words = std::get_if<std::vector<std::string>>(&entrypoint)) return *words;
    return first_command(std::get<std::string>(entrypoint)).value_or(std::vector<std::string>());
}

/// Whether a setup line certainly neither changes the directory nor makes a file.
bool is_harmless(std::string_view line) {
    line = trim(line);
    if (line.empty() || line.starts_with('#')) return true;
    if (line.find_first_of(";&|`<>\n") != std::string_view::npos || line.find("$(") != std::string_view::npos)
        return false;
    auto const word = line.substr(0, line.find_first_of(" \t"));
    if (is_one_of(harmless_setup, word)) return true;
    bool const is_sourced = word == "source" || word == ".";
    return (is_sourced && last_part(line) == "activate") || line.starts_with("conda activate ") ||
           line.starts_with("spack load ");
}

/// Whether the code may have a file at this path: it is a member, or lies below a link.
bool may_have(pack::ContextTree const& code, std::string const& path) {
    return std::ranges::any_of(code.members, [&](auto const& member) {
        if (member.path == path) return true;
        return member.kind == pack::Member::Kind::link && path.starts_with(member.path + "/");
    });
}

std::string hint_for(std::string const& path, pack::ContextTree const& code) {
    auto const left_out = std::ranges::find_if(
        code.left_out.paths, [&](auto const& each) { return path == each || path.starts_with(each + "/"); });
    if (left_out != code.left_out.paths.end())
        return fmt::format("'{0}' is left out of the code: the line '!{0}' in .detignore brings it back",
                           *left_out);
    std::vector<std::string_view> files;
    for (auto const& member : code.members) {
        if (member.kind == pack::Member::Kind::directory) continue;
        if (last_part(member.path) == last_part(path)) return fmt::format("use '{}'", member.path);
        files.push_back(member.path);
    }
    if (auto const near = nearest_word(path, files)) return fmt::format("use '{}'", *near);
    return "the paths of an entrypoint begin in the directory of the code";
}

/// \param config_file the file with the entrypoint; empty: there is none
std::string hint_without_code(std::string const& path, fs::path const& config_file) {
    for (auto const& directory : {config_file.parent_path().string(), std::string(".")}) {
        auto const shown = directory.empty() ? "." : directory;
        if (path_exists(fs::path(shown) / path))
            return fmt::format("give the directory of the code after the configuration: '{}' has '{}'", shown,
                               path);
    }
    return "give the directory of the code after the configuration";
}

}  // namespace

std::optional<std::string> find_entrypoint_file(config::Entrypoint const& entrypoint,
                                                std::span<std::string const> setup) {
    if (!std::ranges::all_of(setup, is_harmless)) return std::nullopt;
    return find_file(first_words(entrypoint));
}

Status check_launcher(config::ExperimentConfig const& config) {
    auto const name = find_unknown_launcher(first_words(config.entrypoint));
    if (!name) return Ok{};
    auto const near = nearest_word(*name, launcher_names);
    Error error{codes::bad_value, fmt::format("det-launch has no launcher '{}'", *name),
                near ? fmt::format("use '{}'", *near)
                     : fmt::format("launchers: {}", fmt::join(launcher_names, ", "))};
    error.where = config.where("entrypoint");
    return error;
}

Status check_entrypoint_file(SubmissionRequest const& request, pack::ContextTree const* code) {
    auto const& config = request.config;
    // A container may have files of its own in the working directory.
    bool const may_be_elsewhere =
        request.script || request.packed_code || request.plan.container || !config.bind_mounts.empty();
    if (may_be_elsewhere) return Ok{};
    auto const path = find_entrypoint_file(config.entrypoint, config.slurm.setup);
    if (!path) return Ok{};
    // startup-hook.sh runs before the entrypoint, and may make files.
    if (code != nullptr && (may_have(*code, *path) || may_have(*code, "startup-hook.sh"))) return Ok{};
    auto const where = config.where("entrypoint");
    auto error = code == nullptr
                     ? Error{codes::no_such_file,
                             fmt::format("the entrypoint starts '{}', and no code is given", *path),
                             hint_without_code(*path, where ? where->file : "")}
                     : Error{codes::no_such_file,
                             fmt::format("the entrypoint starts '{}', which is not in the code", *path),
                             hint_for(*path, *code)};
    error.where = where;
    return error;
}

std::string describe_code(pack::ContextTree const& code) {
    auto const files = std::ranges::count_if(
        code.members, [](auto const& member) { return member.kind != pack::Member::Kind::directory; });
    auto text = fmt::format("{}, {}", count_text(static_cast<std::size_t>(files), "file"),
                            format_size(code.size_bytes));
    if (code.left_out.count == 0) return text;
    std::map<std::string, std::size_t> names;
    for (auto const& path : code.left_out.paths) ++names[escape_control(last_part(path))];
    std::vector<std::string> parts;
    std::size_t shown = 0;
    for (auto const& [name, count] : names) {
        if (parts.size() == names_shown_max) break;
        parts.push_back(count == 1 ? name : fmt::format("{} {}", count, name));
        shown += count;
    }
    text += "; left out: " + join(parts, ", ");
    if (shown < code.left_out.count) text += fmt::format(" and {} more", code.left_out.count - shown);
    return text;
}

}  // namespace det::experiment
