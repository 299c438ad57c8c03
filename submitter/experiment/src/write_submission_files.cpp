#include "write_submission_files.hpp"

#include <det/config/explain_config.hpp>
#include <det/config/layers.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/render.hpp>

#include <fmt/format.h>

namespace det::experiment {
namespace {

Status write_secrets(ExperimentLayout const& layout, config::ExperimentConfig const& config) {
    auto const secrets = config::find_secrets(config.effective);
    if (!secrets) return Ok{};
    return write_secret_file(layout.secrets(), to_line(yaml::to_json(*secrets)) + "\n");
}

}  // namespace

Status write_submission_files(SubmissionRequest const& request, RenderedExperiment const& experiment) {
    auto const& layout = experiment.layout;
    // The configuration as it was written has the secrets too.
    bool const has_secrets = config::find_secrets(request.config.effective).has_value();
    DET_TRY(has_secrets ? write_secret_file(layout.submitted(), request.written)
                        : write_file(layout.submitted(), request.written));
    DET_TRY(
        write_file(layout.config(), config::explain_config(config::mask_secrets(request.config.effective))));
    DET_TRY(write_secrets(layout, request.config));
    for (auto const& script : experiment.scripts) DET_TRY(write_file(script.path, script.text));
    return Ok{};
}

Result<std::optional<ContextSpec>> require_stored_code(SubmissionRequest const& request) {
    if (!request.packed_code || path_exists(request.root.context(request.packed_code->sha256)))
        return request.packed_code;
    return Error{codes::no_such_file,
                 fmt::format("the code is gone: there is no '{}'",
                             request.root.context(request.packed_code->sha256).string()),
                 "create the experiment anew from a directory"};
}

}  // namespace det::experiment
