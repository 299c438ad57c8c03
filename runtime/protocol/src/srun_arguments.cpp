#include <det/foundation/text.hpp>
#include <det/protocol/srun_arguments.hpp>

#include <algorithm>
#include <iterator>

namespace det {
namespace {

// The option letters of srun(1) that take a value. I and K take one only in the same word.
constexpr std::string_view letters_with_value = "ABcCdDeFGiJLmMnNopPqrStTUwWx";
constexpr std::string_view letters_with_attached_value = "IK";

// The long options of srun(1) that take no value, or take one only after '='. Sorted. The options of pyxis
// that begin with "no-" are recognised by that.
constexpr std::string_view flags[] = {
    "async",
    "bcast",
    "compress",
    "contiguous",
    "det",
    "disable-status",
    "exact",
    "exclusive",
    "external-launcher",
    "get-user-env",
    "help",
    "hold",
    "immediate",
    "interactive",
    "join",
    "kill-on-bad-exit",
    "label",
    "multi-prog",
    "nice",
    "overcommit",
    "overlap",
    "oversubscribe",
    "preserve-env",
    "preserve-slurm-env",
    "propagate",
    "pty",
    "quiet",
    "quit-on-interrupt",
    "reboot",
    "resv-ports",
    "send-libs",
    "share",
    "spread-job",
    "stepmgr",
    "test-only",
    "unbuffered",
    "usage",
    "use-min-nodes",
    "verbose",
    "version",
    "wait-for-children",
    "whole",
};

struct KnownOption {
    std::string_view name;
    char letter;
    std::optional<std::string> SrunArguments::*value;
};

constexpr KnownOption known_options[] = {
    {"output", 'o', &SrunArguments::output}, {"error", 'e', &SrunArguments::error},
    {"nodes", 'N', &SrunArguments::nodes},   {"nodelist", 'w', &SrunArguments::node_list},
    {"ntasks", 'n', &SrunArguments::tasks},
};

struct VariableDefault {
    std::string_view name;
    std::optional<std::string> SrunArguments::*value;
};

constexpr VariableDefault variable_defaults[] = {
    {"SLURM_STDOUTMODE", &SrunArguments::output},
    {"SLURM_STDERRMODE", &SrunArguments::error},
    {"SLURM_JOB_NUM_NODES", &SrunArguments::nodes},
    {"SLURM_NNODES", &SrunArguments::nodes},
};

class Parser {
public:
    explicit Parser(std::span<std::string const> words) : words_(words) {}

    SrunArguments parse() && {
        for (; at_ < words_.size(); ++at_) {
            std::string_view const word = words_[at_];
            if (word == "--") {
                ++at_;
                break;
            }
            if (word.size() < 2 || word.front() != '-') break;
            if (word.starts_with("--")) {
                take_long(word.substr(2));
            } else {
                take_letters(word.substr(1));
            }
        }
        auto const command = words_.subspan(std::min(at_, words_.size()));
        found_.command.assign(command.begin(), command.end());
        return std::move(found_);
    }

private:
    /// The next word, which is the value of the current option.
    std::string_view take_next_word() {
        if (at_ + 1 >= words_.size()) return "";
        return words_[++at_];
    }

    template <class Member, class Wanted>
    void store(Member KnownOption::*member, Wanted const& wanted, std::string_view value) {
        auto const* const known = std::ranges::find(known_options, wanted, member);
        if (known != std::end(known_options)) found_.*(known->value) = std::string(value);
    }

    void take_long(std::string_view option) {
        auto const equals = option.find('=');
        auto const name = option.substr(0, equals);
        if (equals != std::string_view::npos) {
            store(&KnownOption::name, name, option.substr(equals + 1));
        } else if (!name.starts_with("no-") && !std::ranges::binary_search(flags, name)) {
            store(&KnownOption::name, name, take_next_word());
        }
    }

    void take_letters(std::string_view letters) {
        for (; !letters.empty(); letters.remove_prefix(1)) {
            char const letter = letters.front();
            if (letters_with_attached_value.find(letter) != std::string_view::npos) return;
            if (letters_with_value.find(letter) == std::string_view::npos) continue;
            auto const attached = letters.substr(1);
            store(&KnownOption::letter, letter, attached.empty() ? take_next_word() : attached);
            return;
        }
    }

    std::span<std::string const> words_;
    std::size_t at_ = 0;
    SrunArguments found_;
};

}  // namespace

SrunArguments parse_srun_arguments(std::span<std::string const> words, VariableLookup const& lookup) {
    auto found = Parser(words).parse();
    for (auto const& variable : variable_defaults) {
        if (!(found.*(variable.value))) found.*(variable.value) = lookup(variable.name);
    }
    return found;
}

bool names_output_file(std::string_view value) {
    return !value.empty() && value != "all" && value != "none" && !parse_integer<std::uint32_t>(value);
}

}  // namespace det
