#include <det/config/batch_script.hpp>
#include <det/foundation/reversed.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "batch_script_header.hpp"

namespace det::config {
namespace {

using yaml::Node;

constexpr std::string_view shebang_blanks = " \t";

/// sbatch accepts these, and they change nothing for a job that det-submit submits.
bool is_without_consequence(std::string_view option) {
    constexpr std::string_view names[] = {"requeue", "det-requeue", "parsable", "quiet"};
    return std::ranges::find(names, option) != std::end(names);
}

/// Why an option of the header that det-submit sets itself has no effect: what to do instead.
std::string hint_for(std::string_view option, std::string const& hint_in_yaml) {
    if (option == "hold") return "--paused keeps its jobs held until 'det-submit experiment activate'";
    return hint_in_yaml;
}

Error without_effect(SbatchRefusal const& refusal, yaml::Location const& where) {
    auto const message =
        refusal.det_submits == "no-requeue"
            ? std::string("--no-requeue has no effect: a preempted trial is always requeued")
            : fmt::format("--{} has no effect: det-submit sets it itself", refusal.det_submits);
    return Error{codes::not_supported, message, hint_for(refusal.det_submits, refusal.hint), where.span()};
}

/// Makes the layer of a script's header.
class LayerMaker {
public:
    LayerMaker(BatchScriptHeader const& header, BatchScriptCall const& call) : header_(header), call_(call) {}

    Result<BatchScript, Diagnostics> make(std::string_view text) && {
        BatchScript script;
        script.interpreter = read_shebang(text);
        script.warnings = header_.warnings;
        found_ = &script.warnings;
        auto const args = read_options();
        add("name", this->text(name_of(args), location_of(args, "job-name")));
        add("entrypoint", entrypoint(script.interpreter));
        add_search(args);
        add("slurm", slurm(args));
        if (found_->has_errors()) return std::move(script.warnings);
        script.layer = Node(std::move(entries_), header_.start);
        return script;
    }

private:
    SbatchArgs read_options() {
        std::vector<std::string> words;
        for (auto const& word : header_.words) words.push_back(word.text);
        auto args = parse_sbatch_args(words, SbatchUse::batch_script);
        for (auto const& refusal : args.refused) {
            auto const& where = header_.words[refusal.item].where;
            if (refusal.det_submits.empty()) {
                found_->report(Error{codes::bad_value, refusal.message, refusal.hint, where.span()});
            } else if (!is_without_consequence(refusal.det_submits)) {
                found_->warn(without_effect(refusal, where));
            }
        }
        if (args.word) {
            auto const& word = header_.words[*args.word];
            found_->warn(
                Error{codes::bad_value,
                      fmt::format("'{}' is no option: sbatch reads no #SBATCH option after it", word.text),
                      "quote a value that has blanks", word.where.span()});
        }
        // sbatch reads its variables after the header, and the last option counts.
        for (auto const& option : call_.sbatch_variables)
            args.args.push_back({option.name, option.value, header_.words.size()});
        return args;
    }

    std::string name_of(SbatchArgs const& args) const {
        auto const name = args.find("job-name").value_or("");
        return name.empty() ? call_.path.filename().string() : name;
    }

    Node entrypoint(std::vector<std::string> const& interpreter) const {
        Node::List words;
        for (auto const& word : interpreter) words.push_back(text(word));
        words.push_back(text(call_.path.string()));
        for (auto const& word : call_.arguments) words.push_back(text(word));
        return Node(std::move(words), header_.start);
    }

    /// A task of the script's array is a trial of a grid. Without an array, there is one trial.
    void add_search(SbatchArgs const& args) {
        auto const array = args.find("array");
        auto const where = location_of(args, "array");
        std::vector<Node::Entry> searcher{entry("metric", text("none"))};
        if (!array) {
            searcher.push_back(entry("name", text("single")));
            return add("searcher", Node(std::move(searcher), header_.start));
        }
        auto parsed = parse_array_expression(*array);
        if (!parsed) {
            auto error = std::move(parsed).error();
            error.where = where.span();
            return found_->report(std::move(error));
        }
        searcher.push_back(entry("name", text("grid", where)));
        searcher.push_back(
            entry("max_concurrent_trials", Node(std::int64_t{parsed->running_max.value_or(0)}, where)));
        add("searcher", Node(std::move(searcher), where));
        Node::List ids;
        // The last point of a grid is its trial 0.
        for (auto const id : reversed(parsed->task_ids)) ids.emplace_back(std::int64_t{id}, where);
        std::vector<Node::Entry> parameter{entry("type", text("categorical", where)),
                                           entry("vals", Node(std::move(ids), where))};
        add("hyperparameters",
            Node(std::vector<Node::Entry>{entry(array_parameter, Node(std::move(parameter), where))}, where));
    }

    Node slurm(SbatchArgs const& args) const {
        Node::List options;
        for (auto arg : args.args) {
            if (arg.name == "chdir" && arg.value)
                arg.value = (call_.directory / *arg.value).lexically_normal().string();
            options.push_back(text(arg.text(), location_of(arg)));
        }
        std::vector<Node::Entry> entries{entry("launch", text("script")),
                                         entry("batch_script", text(call_.path.string())),
                                         entry("sbatch_args", Node(std::move(options), header_.start))};
        return Node(std::move(entries), header_.start);
    }

    yaml::Location location_of(SbatchArgs const& args, std::string_view name) const {
        auto const found = std::find_if(args.args.rbegin(), args.args.rend(),
                                        [&](auto const& arg) { return arg.name == name; });
        return found == args.args.rend() ? header_.start : location_of(*found);
    }

    /// An option of the environment has no place in the script.
    yaml::Location location_of(SbatchArg const& arg) const {
        return arg.item < header_.words.size() ? header_.words[arg.item].where : header_.start;
    }

    Node text(std::string value) const { return text(std::move(value), header_.start); }
    static Node text(std::string value, yaml::Location const& where) { return Node(std::move(value), where); }
    Node::Entry entry(std::string key, Node value) const {
        return {std::move(key), header_.start, std::move(value)};
    }
    void add(std::string key, Node value) { entries_.push_back(entry(std::move(key), std::move(value))); }

    BatchScriptHeader const& header_;
    BatchScriptCall const& call_;
    Diagnostics* found_ = nullptr;
    std::vector<Node::Entry> entries_;
};

Error bad_array(std::string_view text) {
    return {codes::bad_value, fmt::format("--array={} is no list of task ids", text),
            "for example --array=1-10, --array=0-20:5%2 or --array=1,5,9"};
}

constexpr std::uint32_t task_id_max = 4'000'000;  // of Slurm
constexpr std::size_t tasks_max = 100'000;        // as many values as a configuration may have

/// Parses "7", "1-9", "1-9:2". Brackets around a part mean nothing to Slurm.
Status add_range(std::string_view part, std::set<std::uint32_t>& ids) {
    auto const step_at = part.find(':');
    auto const dash = part.find('-');
    auto const number = [](std::string_view digits) { return parse_integer<std::uint32_t>(digits); };
    auto const first = number(part.substr(0, std::min(dash, step_at)));
    auto const last = dash == std::string_view::npos
                          ? first
                          : number(part.substr(dash + 1, step_at - std::min(step_at, dash + 1)));
    auto const step = step_at == std::string_view::npos ? 1 : number(part.substr(step_at + 1));
    bool const is_range = first && last && step && *step > 0 && *step <= task_id_max && *first <= *last &&
                          *last <= task_id_max && (step_at == std::string_view::npos || dash < step_at);
    if (!is_range) return bad_array(part);
    if ((*last - *first) / *step >= tasks_max) return bad_array(part);
    for (auto id = *first; id <= *last; id += *step) ids.insert(id);
    return Ok{};
}

}  // namespace

bool is_batch_script(std::string_view text) { return text.starts_with("#!"); }

std::vector<std::string> read_shebang(std::string_view text) {
    if (!is_batch_script(text)) return {};
    auto const line = trim(text.substr(2, text.find('\n') - 2));
    auto const end = line.find_first_of(shebang_blanks);
    std::vector<std::string> words;
    if (line.empty()) return words;
    words.emplace_back(line.substr(0, end));
    if (end != std::string_view::npos) words.emplace_back(trim(line.substr(end)));
    return words;
}

Result<ArrayExpression> parse_array_expression(std::string_view text) {
    auto const percent = text.find('%');
    ArrayExpression expression;
    for (auto const part : split(text.substr(0, percent), ',')) {
        auto range = trim(part);
        if (range.starts_with('[')) range.remove_prefix(1);
        if (range.ends_with(']')) range.remove_suffix(1);
        expression.indices += (expression.indices.empty() ? "" : ",") + std::string(range);
    }
    std::set<std::uint32_t> ids;
    for (auto const range : split(expression.indices, ',')) {
        if (!add_range(range, ids) || ids.size() > tasks_max) return bad_array(text);
    }
    if (percent != std::string_view::npos) {
        expression.running_max = parse_integer<std::uint32_t>(trim(text.substr(percent + 1)));
        if (!expression.running_max) return bad_array(text);
        if (*expression.running_max == 0) expression.running_max.reset();  // no limit
    }
    expression.task_ids.assign(ids.begin(), ids.end());
    return expression;
}

Result<BatchScript, Diagnostics> read_batch_script(std::string_view text, BatchScriptCall const& call) {
    DET_TRY_ASSIGN(auto const header, read_batch_script_header(text, call.name));
    return LayerMaker(header, call).make(text);
}

}  // namespace det::config
