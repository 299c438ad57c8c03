#include <det/foundation/text.hpp>
#include <det/protocol/layout.hpp>
#include <det/render/script.hpp>

#include <fmt/format.h>
#include <map>

namespace det::render {
namespace {

/// Our own words and numbers alone: a script that a person copies and submits again asks for the same.
std::string sbatch_options(plan::SubmissionPlan const& plan, ScriptInput const& input) {
    std::string lines;
    auto const add = [&](std::string const& option) { lines += fmt::format("#SBATCH {}\n", option); };
    add(fmt::format("--job-name=exp-{}", input.experiment.value));
    add(fmt::format("--array={}", plan.array()));
    add(fmt::format("--nodes={}", plan.shape.nodes));
    add("--ntasks-per-node=1");
    add("--exclusive");
    add("--mem=0");
    if (plan.pool.slot_type != SlotType::cpu) add(fmt::format("--gres=gpu:{}", plan.pool.slots_per_node));
    add("--requeue");
    add("--open-mode=append");
    lines.pop_back();
    return lines;
}

/// One line that no comment can end early.
std::string comment_text(std::string_view text) { return escape_control(text); }

using Values = std::map<std::string, std::string, std::less<>>;

Result<std::string> value_of(Values const& values, std::string_view name) {
    if (auto const found = values.find(name); found != values.end()) return found->second;
    return Error{codes::bad_value,
                 fmt::format("the job template asks for an unknown value '{{{{{}}}}}'", name)};
}

}  // namespace

Result<std::string> render_script(std::string_view text, plan::SubmissionPlan const& plan,
                                  ScriptInput const& input) {
    Values const values{
        {"sbatch_options", sbatch_options(plan, input)},
        {"det_launch", quote_for_shell(input.det_launch.string())},
        {"experiment_path", quote_for_shell(input.experiment_path.string())},
        {"#experiment", std::to_string(input.experiment.value)},
        {"#name", comment_text(input.experiment_name)},
        {"#nodes", std::to_string(plan.shape.nodes)},
        {"#slots", std::to_string(plan.shape.slots_per_node)},
        {"#pool", comment_text(plan.pool.name)},
    };
    std::string script;
    for (;;) {
        auto const open = text.find("{{");
        script += text.substr(0, open);
        if (open == std::string_view::npos) return script;
        auto const close = text.find("}}", open);
        if (close == std::string_view::npos)
            return Error{codes::bad_value, "the job template has a '{{' without '}}'"};
        DET_TRY_ASSIGN(auto const value, value_of(values, text.substr(open + 2, close - open - 2)));
        script += value;
        text.remove_prefix(close + 2);
    }
}

std::vector<std::string> command_line_options(plan::SubmissionPlan const& plan, ScriptInput const& input,
                                              std::string_view root_id) {
    ExperimentLayout const layout(input.experiment_path);
    std::vector<std::string> options{
        "--partition=" + plan.pool.partition,
        "--output=" + layout.slurm_output().string(),
        fmt::format("--comment=det:{}/{}", root_id, input.experiment.value),
        "--chdir=/",
    };
    options.insert(options.end(), plan.sbatch_args.begin(), plan.sbatch_args.end());
    return options;
}

}  // namespace det::render
