#include <det/foundation/error_codes.hpp>

#include <algorithm>
#include <array>

namespace det {
namespace {

constexpr std::array all_codes{codes::usage,
                               codes::syntax,
                               codes::unknown_key,
                               codes::duplicate_key,
                               codes::missing_key,
                               codes::wrong_type,
                               codes::bad_value,
                               codes::not_supported,
                               codes::merge_conflict,
                               codes::document_too_large,
                               codes::not_a_file,
                               codes::not_a_directory,
                               codes::no_such_pool,
                               codes::slots_do_not_fit,
                               codes::idle_slots,
                               codes::context_too_large,
                               codes::unsafe_link,
                               codes::no_such_file,
                               codes::no_such_template,
                               codes::no_such_experiment,
                               codes::no_such_trial,
                               codes::no_such_checkpoint,
                               codes::no_such_label,
                               codes::no_such_model,
                               codes::no_such_version,
                               codes::no_such_job,
                               codes::job_not_waiting,
                               codes::no_legal_move,
                               codes::slurm_refused,
                               codes::slurm_unreachable,
                               codes::submission_unclear,
                               codes::slurm_output,
                               codes::not_in_slurm,
                               codes::superseded,
                               codes::bad_request,
                               codes::unauthorized,
                               codes::forbidden,
                               codes::no_such_route,
                               codes::file_system,
                               codes::permission,
                               codes::unsafe_owner,
                               codes::name_taken,
                               codes::not_yours,
                               codes::damaged,
                               codes::newer_format,
                               codes::experiment_packed,
                               codes::journal_damaged,
                               codes::checkpoint_damaged,
                               codes::checkpoint_replaced,
                               codes::checkpoint_not_yours,
                               codes::process,
                               codes::timed_out,
                               codes::interrupted,
                               codes::transport,
                               codes::misuse,
                               codes::wrong_state,
                               codes::experiment_failed,
                               codes::internal};

}  // namespace

std::optional<ErrorCode> find_error_code(std::string_view name) {
    auto const found = std::ranges::find(all_codes, name, &ErrorCode::name);
    if (found == all_codes.end()) return std::nullopt;
    return *found;
}

}  // namespace det
