#include "experiment_names.hpp"

#include <det/experiment/root_directory.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/history/summary.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <vector>

#include "output/no_such_name.hpp"
#include "value_kind.hpp"

namespace det::cli {
namespace {

constexpr std::string_view newest = "last";

/// Whether the command itself reads a word: one of numbers and what stands between them ("7", "7.3", "1,2"),
/// or one that looks like an option ("-1").
bool is_no_name(std::string_view word) {
    return word.starts_with('-') || word.find_first_not_of("0123456789.,") == std::string_view::npos;
}

/// The experiments of the user's root, by name.
class ExperimentNames {
public:
    ExperimentNames(RootLayout const& root, Session& session)
        : root_(root), history_(session.open_history(root)) {}

    /// \return empty if no experiment has this name
    Result<std::optional<ExperimentId>> find(std::string const& name) {
        if (name == newest) return find_newest();
        DET_TRY_ASSIGN(auto const ids, ids_of(name));
        if (ids.size() > 1)
            return Error{codes::usage,
                         fmt::format("experiments {} have the name '{}'", fmt::join(ids, ", "), name),
                         "write the id of one of them"};
        return ids.empty() ? std::nullopt : std::optional(ExperimentId{ids.front()});
    }

    Error no_such(std::string const& name) {
        std::set<std::string> names;
        auto const all = history_->list_summaries({.with_archived = true});
        if (all) {
            for (auto const& each : all->experiments) {
                if (auto const record = history_->load_experiment(each.id))
                    names.insert(tracker::history::attributes_of(*record).name);
            }
        }
        if (names.empty())
            return {codes::no_such_experiment,
                    fmt::format("there is no experiment in {}", root_.path().string()),
                    "see 'det-submit experiment create --help'"};
        auto error =
            no_such_name(codes::no_such_experiment, "experiment", name, root_.path().string(), names);
        // `last` is no name of an experiment, but can be misspelt like one.
        std::vector<std::string_view> words(names.begin(), names.end());
        words.push_back(newest);
        if (nearest_word(name, words) == newest)
            error.hint = fmt::format("use '{}', the newest one; {}", newest, error.hint);
        return error;
    }

private:
    Result<std::optional<ExperimentId>> find_newest() {
        DET_TRY_ASSIGN(auto const ids, history_->list_experiments());
        return ids.empty() ? std::nullopt : std::optional(ids.back());
    }

    Result<std::vector<std::uint32_t>> ids_of(std::string const& name) {
        tracker::history::ExperimentFilter filter;
        filter.name = name;  // also those of which it is only a part
        filter.with_archived = true;
        filter.limit = std::numeric_limits<std::size_t>::max();
        DET_TRY_ASSIGN(auto const page, history_->list_summaries(filter));
        std::vector<std::uint32_t> ids;
        for (auto const& each : page.experiments) {
            auto const record = history_->load_experiment(each.id);
            if (record && tracker::history::attributes_of(*record).name == name) ids.push_back(each.id.value);
        }
        std::ranges::sort(ids);
        return ids;
    }

    RootLayout root_;
    std::shared_ptr<tracker::history::History> history_;
};

/// Separates "name.3" into "name" and ".3". The second part is empty if the word does not end in a number.
std::pair<std::string, std::string> split_trial(std::string const& word) {
    auto const point = word.rfind('.');
    bool const has_trial = point != std::string::npos && point + 1 < word.size() &&
                           word.find_first_not_of("0123456789", point + 1) == std::string::npos;
    if (!has_trial) return {word, ""};
    return {word.substr(0, point), word.substr(point)};
}

/// The names of an experiment may contain points and commas, so the whole word is looked up first.
Result<std::string> replace_names(std::string const& word, ValueKind kind, ExperimentNames& names) {
    if (is_no_name(word)) return word;
    DET_TRY_ASSIGN(auto const whole, names.find(word));
    if (whole) return fmt::format("{}", whole->value);
    if (kind == ValueKind::trial) {
        auto const [name, trial] = split_trial(word);
        DET_TRY_ASSIGN(auto const id, names.find(name));
        if (id && !trial.empty()) return fmt::format("{}{}", id->value, trial);
    }
    if (word.find(',') == std::string::npos) return names.no_such(word);
    std::vector<std::string> parts;
    for (auto const part : split(word, ',')) {
        DET_TRY_ASSIGN(auto replaced, replace_names(std::string(part), kind, names));
        parts.push_back(std::move(replaced));
    }
    return fmt::format("{}", fmt::join(parts, ","));
}

/// The id of the experiment with this name; the word itself if there is none, which then is a file's name.
Result<std::string> replace_if_known(std::string const& word, ExperimentNames& names) {
    DET_TRY_ASSIGN(auto const id, names.find(word));
    return id ? fmt::format("{}", id->value) : word;
}

/// The words that an option or an argument holds.
std::vector<std::string*> words_of(Option const& option) {
    if (auto* const* const text = std::get_if<std::string*>(&option.target)) return {*text};
    if (auto* const* const text = std::get_if<std::optional<std::string>*>(&option.target))
        return **text ? std::vector{&***text} : std::vector<std::string*>();
    std::vector<std::string*> words;
    if (auto* const* const list = std::get_if<std::vector<std::string>*>(&option.target)) {
        for (auto& word : **list) words.push_back(&word);
    }
    return words;
}

}  // namespace

Status replace_experiment_names(CommandEntry const& entry, Command& command, Session& session) {
    std::optional<ExperimentNames> names;
    auto const own = command.own_words();
    for (auto const& option : command.options()) {
        auto const kind = kind_of(entry, option);
        bool const may_be_file = kind == ValueKind::file_or_experiment;
        if (kind != ValueKind::experiment && kind != ValueKind::trial && !may_be_file) continue;
        for (auto* const word : words_of(option)) {
            if (is_no_name(*word)) continue;
            if (std::ranges::find(own, *word) != own.end()) continue;
            if (may_be_file && path_exists(*word)) continue;
            if (!names) {
                DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
                names.emplace(root, session);
            }
            DET_TRY_ASSIGN(
                *word, may_be_file ? replace_if_known(*word, *names) : replace_names(*word, kind, *names));
        }
    }
    return Ok{};
}

}  // namespace det::cli
