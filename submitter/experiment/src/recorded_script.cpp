#include <det/experiment/load_config.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/trusted_file.hpp>

namespace det::experiment {

bool names_batch_script(ConfigSources const& sources) {
    if (sources.text) return config::is_batch_script(*sources.text);
    auto const text = read_file(sources.file, config_limit_bytes);
    return text && config::is_batch_script(*text);
}

Result<std::optional<SubmittedScript>> load_recorded_script(ExperimentLayout const& experiment,
                                                            ExperimentSpec const& spec) {
    bool const has_script = spec.batch_script && !spec.batch_script->working_directory.empty();
    if (!has_script) return std::optional<SubmittedScript>();
    DET_TRY_ASSIGN(auto text, read_trusted_file(experiment.batch_script()));
    auto const& [working_directory, tasks, submit_directory] = *spec.batch_script;
    SubmittedScript script{experiment.batch_script().string(),
                           std::move(text),
                           {},
                           {},
                           submit_directory.empty() ? working_directory : submit_directory};
    script.interpreter = config::read_shebang(script.text);
    // The entrypoint is the interpreter, the script, and its arguments.
    auto const arguments = script.interpreter.size() + 1;
    if (spec.entrypoint.size() > arguments)
        script.arguments.assign(spec.entrypoint.begin() + static_cast<std::ptrdiff_t>(arguments),
                                spec.entrypoint.end());
    return std::optional(std::move(script));
}

}  // namespace det::experiment
