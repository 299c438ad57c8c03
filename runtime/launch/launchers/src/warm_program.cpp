// What an interpreter that waits must know of the program that it becomes, and which interpreter can become
// it.
#include <det/foundation/bytes.hpp>
#include <det/foundation/find_program.hpp>
#include <det/foundation/sha256.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/launchers/warm_start.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace det::launch::launchers {
namespace {

namespace fs = std::filesystem;

/// Variables that differ between ranks, runs or nodes, and that torch does not read when it is imported. A
/// name that ends with '_' is a prefix.
constexpr std::array of_the_rank = std::to_array<std::string_view>({"DET_",
                                                                    "SLURM_",
                                                                    "SLURMD_",
                                                                    "SRUN_",
                                                                    "PMI_",
                                                                    "PMIX_",
                                                                    "TORCHELASTIC_",
                                                                    "GROUP_",
                                                                    "ROLE_",
                                                                    "CROSS_",
                                                                    "RANK",
                                                                    "LOCAL_RANK",
                                                                    "WORLD_SIZE",
                                                                    "LOCAL_WORLD_SIZE",
                                                                    "NODE_RANK",
                                                                    "MASTER_ADDR",
                                                                    "MASTER_PORT",
                                                                    "C10D_PORT",
                                                                    "HOSTNAME",
                                                                    "PWD",
                                                                    "OLDPWD",
                                                                    "SHLVL",
                                                                    "_",
                                                                    "TMPDIR",
                                                                    "CUDA_VISIBLE_DEVICES",
                                                                    "ROCR_VISIBLE_DEVICES",
                                                                    "HIP_VISIBLE_DEVICES",
                                                                    "GPU_DEVICE_ORDINAL",
                                                                    "ZE_AFFINITY_MASK",
                                                                    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
                                                                    "TORCH_FR_DUMP_TEMP_FILE",
                                                                    "TORCHINDUCTOR_CACHE_DIR",
                                                                    "TRITON_CACHE_DIR"});

bool is_of_the_rank(std::string_view name) {
    return std::ranges::any_of(of_the_rank, [&](std::string_view each) {
        return each == name || (each.size() > 1 && each.ends_with('_') && name.starts_with(each));
    });
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
    for (auto at = text.find(from); !from.empty() && at != text.npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

void append_field(std::string& message, std::string_view field) {
    message += field;
    message += '\0';
}

/// Takes the fields of a message one after the other.
class Fields {
public:
    explicit Fields(std::string_view message) : rest_(message) {}
    std::string take() {
        auto const end = rest_.find('\0');
        if (end == rest_.npos) is_whole_ = false;
        auto const field = rest_.substr(0, end);
        rest_.remove_prefix(std::min(rest_.size(), field.size() + 1));
        return std::string(field);
    }
    std::size_t take_count() {
        auto const count = parse_integer<std::size_t>(take());
        if (!count || *count > rest_.size()) is_whole_ = false;
        return is_whole_ ? *count : 0;
    }
    std::vector<int> take_numbers() {
        std::vector<int> numbers;
        auto const field = take();
        for (auto const word : split(field, ' ')) {
            if (auto const number = parse_integer<int>(word)) numbers.push_back(*number);
        }
        return numbers;
    }
    bool is_whole() const { return is_whole_; }

private:
    std::string_view rest_;
    bool is_whole_ = true;
};

}  // namespace

std::string to_string(WarmStartPlace const& place) {
    return fmt::format("{}:{}", place.name, place.directory.string());
}

std::optional<WarmStartPlace> parse_warm_start_place(std::string_view text) {
    auto const colon = text.find(':');
    if (colon == text.npos || colon == 0 || colon + 1 == text.size()) return std::nullopt;
    return WarmStartPlace{std::string(text.substr(0, colon)), text.substr(colon + 1)};
}

std::optional<std::vector<std::string>> find_python_program(std::vector<std::string> const& command,
                                                            Environment const& environment) {
    if (command.size() < 2) return std::nullopt;
    auto const name = fs::path(command[0]).filename().string();
    auto const version = name.starts_with("python") ? std::string_view(name).substr(6) : "no";
    if (version.find_first_not_of("0123456789.") != version.npos) return std::nullopt;
    auto const path = command[0].find('/') == command[0].npos ? find_program(command[0], environment)
                                                              : std::optional(fs::absolute(command[0]));
    if (!path) return std::nullopt;
    auto rest = command.begin() + 1;
    // -u says the same as the variable, which the waiting interpreter has too.
    if (*rest == "-u" && environment.find_non_empty("PYTHONUNBUFFERED")) ++rest;
    bool const is_module = command.end() - rest >= 2 && *rest == "-m";
    bool const is_script = rest != command.end() && !rest->starts_with('-') && !rest->empty();
    if (!is_module && !is_script) return std::nullopt;
    std::vector<std::string> argv{*path};
    argv.insert(argv.end(), rest, command.end());
    return argv;
}

std::string warm_key(WarmProgram const& program) {
    std::string text;
    append_field(text, program.argv.front());
    append_field(text, std::to_string(program.processors.size()));
    auto const run_dir = program.environment.find(variables::run_dir).value_or("");
    auto const run_path = program.environment.find(variables::run_path).value_or("");
    for (auto const& variable : program.environment.to_list()) {
        if (is_of_the_rank(std::string_view(variable).substr(0, variable.find('=')))) continue;
        append_field(text, replace_all(replace_all(variable, run_dir, "//run"), run_path, "//record"));
    }
    Sha256 hash;
    hash.update(text);
    return hash.finish().substr(0, 16);
}

std::string join_numbers(std::vector<int> const& numbers) {
    return fmt::format("{}", fmt::join(numbers, " "));
}

std::string render_warm_program(WarmProgram const& program) {
    std::string fields;
    auto const append_list = [&](std::vector<std::string> const& words) {
        append_field(fields, std::to_string(words.size()));
        for (auto const& word : words) append_field(fields, word);
    };
    append_list(program.argv);
    append_list(program.environment.to_list());
    append_field(fields, program.directory);
    append_field(fields, std::to_string(program.umask));
    append_field(fields, join_numbers(program.processors));
    append_field(fields, join_numbers(program.blocked));
    append_field(fields, join(program.limits, " "));
    auto const size = static_cast<std::uint32_t>(fields.size());
    std::string message;
    for (int shift = 0; shift < 32; shift += 8) message += static_cast<char>(size >> shift & 0xff);
    return message + fields;
}

std::optional<WarmProgram> parse_warm_program(std::string_view message) {
    Fields fields(message);
    WarmProgram program;
    for (auto count = fields.take_count(); count > 0; --count) program.argv.push_back(fields.take());
    for (auto count = fields.take_count(); count > 0; --count) {
        auto const variable = fields.take();
        auto const equals = std::min(variable.find('='), variable.size());
        program.environment.set(variable.substr(0, equals),
                                equals == variable.size() ? "" : variable.substr(equals + 1));
    }
    program.directory = fields.take();
    program.umask = parse_integer<int>(fields.take()).value_or(0);
    program.processors = fields.take_numbers();
    program.blocked = fields.take_numbers();
    auto const limits = fields.take();
    for (auto const limit : split(limits, ' ')) program.limits.emplace_back(limit);
    if (!fields.is_whole() || program.argv.empty()) return std::nullopt;
    return program;
}

}  // namespace det::launch::launchers
