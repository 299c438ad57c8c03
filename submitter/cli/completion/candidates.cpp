#include "completion/candidates.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>

#include "command.hpp"
#include "completion/existing_names.hpp"

namespace det::cli {
namespace {

bool is_option(std::string_view word) { return word.size() > 1 && word.starts_with('-'); }

bool takes_value(Option const& option) { return !std::holds_alternative<bool*>(option.target); }

/// Whether a positional argument takes any number of words.
bool takes_several(Option const& option) {
    return std::holds_alternative<std::vector<std::string>*>(option.target) ||
           std::holds_alternative<std::vector<std::uint32_t>*>(option.target);
}

void add(std::vector<Candidate>& found, std::string_view begun, std::string_view text,
         std::string_view description) {
    if (text.starts_with(begun) && std::ranges::find(found, text, &Candidate::text) == found.end())
        found.push_back({std::string(text), std::string(description)});
}

/// Selects the names that begin with `begun` and puts `prefix` before them.
std::vector<Candidate> select(std::vector<Candidate> const& all, std::string const& begun,
                              std::string const& prefix) {
    std::vector<Candidate> found;
    for (auto const& each : all) {
        if (each.text.starts_with(begun)) found.push_back({prefix + each.text, each.description});
    }
    return found;
}

std::vector<Candidate> complete_first_word(std::string const& begun) {
    std::vector<Candidate> found;
    for (auto const& entry : command_table()) {
        if (entry.group.empty()) {
            add(found, begun, entry.name, entry.summary);
        } else {
            add(found, begun, entry.group, "");
        }
    }
    for (auto const& each : short_commands()) add(found, begun, each.word, each.summary);
    for (auto const* const option : {"--help", "--version"}) add(found, begun, option, "");
    return found;
}

/// Returns the next word of each command of the group whose name begins with `done`, the words after the
/// group.
std::vector<Candidate> complete_command(std::string_view group, std::string const& done,
                                        std::string const& begun) {
    std::vector<Candidate> found;
    for (auto const& entry : command_table()) {
        if (entry.group != group || !entry.name.starts_with(done)) continue;
        auto const rest = entry.name.substr(done.size());
        auto const end = rest.find(' ');
        add(found, begun, rest.substr(0, end), end == std::string_view::npos ? entry.summary : "");
    }
    return found;
}

std::string_view resolve(std::string_view group) {
    auto const others = group_aliases();
    auto const found = std::ranges::find(others, group, &GroupAlias::alias);
    return found == others.end() ? group : found->group;
}

std::string_view resolve_in_group(std::string_view group, std::string_view name) {
    auto const table = command_table();
    bool const exists = std::ranges::any_of(
        table, [&](auto const& entry) { return entry.group == group && entry.name == name; });
    auto const others = name_aliases();
    auto const alias = std::ranges::find(others, name, &NameAlias::alias);
    return exists || alias == others.end() ? name : alias->name;
}

/// The command that the first words name, and how many words that are; the longest name wins.
std::pair<CommandEntry const*, std::size_t> find_named(std::vector<std::string> const& words) {
    std::pair<CommandEntry const*, std::size_t> found{nullptr, 0};
    auto const group = resolve(words[0]);
    auto const shortcuts = short_commands();
    auto const shortcut = std::ranges::find(shortcuts, words[0], &ShortCommand::word);
    for (auto const& entry : command_table()) {
        if (shortcut != shortcuts.end() && entry.group == shortcut->group && entry.name == shortcut->name)
            return {&entry, 1};
        if (entry.group.empty() && entry.name == words[0]) return {&entry, 1};
        if (entry.group != group || words.size() < 3) continue;
        if (entry.name == resolve_in_group(group, words[1]) && found.second < 2) found = {&entry, 2};
        if (words.size() > 3 && entry.name == words[1] + " " + words[2]) found = {&entry, 3};
    }
    return found;
}

/// Completes the words after the name of a command.
class CommandCompletion {
public:
    CommandCompletion(CommandEntry const& entry, ExistingNames& names)
        : entry_(entry), names_(names), command_(entry.make()), options_(command_->options()) {
        options_.push_back({"--json", &flag_, "print JSON"});
        options_.push_back({"--root", &root_, "the directory of the experiments"});
        options_.push_back({"--help", &flag_, "print the manual"});
    }

    std::vector<Candidate> complete(std::vector<std::string> const& words, std::size_t first) {
        collect_arguments(words, first);
        std::size_t positionals = 0;
        for (auto at = first; at + 1 < words.size(); ++at) {
            if (words[at] == "--") return {};  // the words of another command
            if (!is_option(words[at])) {
                ++positionals;
            } else if (auto const* option = find_option(words[at]);
                       option != nullptr && takes_value(*option)) {
                if (at + 2 == words.size()) return complete_value(*option, words.back(), "");
                ++at;
            }
        }
        auto const& last = words.back();
        auto const equals = last.find('=');
        if (is_option(last) && equals != std::string::npos) {
            auto const* option = find_option(last.substr(0, equals));
            if (option == nullptr) return {};
            return complete_value(*option, last.substr(equals + 1), last.substr(0, equals + 1));
        }
        if (last.starts_with('-')) return complete_option(last);
        return complete_positional(positionals, last);
    }

private:
    /// The words of the line that belong to no option.
    void collect_arguments(std::vector<std::string> const& words, std::size_t first) {
        for (auto at = first; at + 1 < words.size(); ++at) {
            if (!is_option(words[at])) {
                arguments_.push_back(words[at]);
            } else if (auto const* option = find_option(words[at]);
                       option != nullptr && takes_value(*option)) {
                ++at;
            }
        }
    }

    Option const* find_option(std::string_view name) const {
        auto const found =
            std::ranges::find_if(options_, [&](auto const& each) { return has_name(each, name); });
        return found == options_.end() ? nullptr : &*found;
    }

    std::vector<Candidate> complete_option(std::string const& begun) const {
        std::vector<Candidate> found;
        for (auto const& option : options_) {
            for (auto const name : split(option.names, ',')) {
                if (name.starts_with("--") || (begun == "-" && name.starts_with('-')))
                    add(found, begun, name, option.help);
            }
        }
        return found;
    }

    std::vector<Candidate> complete_value(Option const& option, std::string const& begun,
                                          std::string const& prefix) {
        std::vector<Candidate> all;
        if (!option.choices.empty()) {
            for (auto const& word : option.choices) all.push_back({word});
        } else {
            all = names_.find_names(kind_of(entry_, option), begun, arguments_);
        }
        return select(all, begun, prefix);
    }

    std::vector<Candidate> complete_positional(std::size_t index, std::string const& begun) {
        for (auto const& option : options_) {
            if (option.names.starts_with('-')) continue;
            if (index == 0 || takes_several(option)) return complete_value(option, begun, "");
            --index;
        }
        return {};
    }

    CommandEntry const& entry_;
    ExistingNames& names_;
    std::unique_ptr<Command> command_;
    std::vector<Option> options_;
    std::vector<std::string> arguments_;
    bool flag_ = false;
    std::string root_;
};

/// bash separates "--template=mpi" into three words, and replaces only the word after the "=". The same for
/// "--config KEY=VALUE".
/// \return the part before that word that the candidates must not repeat: "KEY="
std::string join_separated_value(std::vector<std::string>& words) {
    auto const count = words.size();
    auto const at = [&](std::size_t from_end) -> std::string_view {
        return count >= from_end ? std::string_view(words[count - from_end]) : std::string_view();
    };
    if (at(1) == "=" && is_option(at(2))) {
        words.back() = "";
    } else if (at(2) == "=" && is_option(at(3))) {
        words.erase(words.end() - 2);
    } else if (at(1) == "=" || at(2) == "=") {
        auto const equals = at(1) == "=" ? count - 1 : count - 2;
        bool const has_key = equals >= 2 && (is_option(words[equals - 2]) || words[equals - 2] == "=");
        if (!has_key) return "";
        auto const key = words[equals - 1] + "=";
        auto const value = equals + 1 < count ? words[equals + 1] : std::string();
        words.resize(equals);
        words.back() = key + value;
        // "--config = KEY = VALUE"
        if (words.size() >= 3 && words[words.size() - 2] == "=") words.erase(words.end() - 2);
        return key;
    }
    return "";
}

std::vector<Candidate> without_prefix(std::vector<Candidate> candidates, std::string const& prefix) {
    for (auto& each : candidates) {
        if (each.text.starts_with(prefix)) each.text.erase(0, prefix.size());
    }
    return candidates;
}

}  // namespace

std::vector<Candidate> find_candidates(std::vector<std::string> words, ExistingNames& names) {
    if (words.empty()) return {};
    auto const separated = join_separated_value(words);
    if (words.size() == 1) return complete_first_word(words[0]);
    auto const [entry, used] = find_named(words);
    auto const group = resolve(words[0]);
    std::vector<Candidate> found;
    if (used < 3 && !words.back().starts_with('-')) {
        // "experiment" or "experiment set": a further word may belong to the name of the command.
        if (words.size() == 2) found = complete_command(group, "", words[1]);
        if (words.size() == 3) found = complete_command(group, words[1] + " ", words[2]);
    }
    if (entry == nullptr) return found;
    auto const more = without_prefix(CommandCompletion(*entry, names).complete(words, used), separated);
    found.insert(found.end(), more.begin(), more.end());
    return found;
}

}  // namespace det::cli
