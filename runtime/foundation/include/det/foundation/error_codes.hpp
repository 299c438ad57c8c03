#pragma once
#include <det/foundation/exit_code.hpp>

#include <optional>
#include <string_view>

namespace det {

/// The kind of an error: a stable name for scripts, and the exit code of the program.
struct ErrorCode {
    std::string_view name;
    ExitCode exit;

    friend constexpr bool operator==(ErrorCode const& a, ErrorCode const& b) { return a.name == b.name; }
};

/// The error codes; det::slurm adds slurm_backend. The meaning of a published name never changes.
namespace codes {

// The command line.
inline constexpr ErrorCode usage{"usage", ExitCode::usage};

// Contents of a user's file.
inline constexpr ErrorCode syntax{"syntax", ExitCode::bad_file};
inline constexpr ErrorCode unknown_key{"unknown-key", ExitCode::bad_file};
inline constexpr ErrorCode duplicate_key{"duplicate-key", ExitCode::bad_file};
inline constexpr ErrorCode missing_key{"missing-key", ExitCode::bad_file};
inline constexpr ErrorCode wrong_type{"wrong-type", ExitCode::bad_file};
inline constexpr ErrorCode bad_value{"bad-value", ExitCode::bad_file};
inline constexpr ErrorCode not_supported{"not-supported", ExitCode::bad_file};
inline constexpr ErrorCode merge_conflict{"merge-conflict", ExitCode::bad_file};
inline constexpr ErrorCode document_too_large{"document-too-large", ExitCode::bad_file};
inline constexpr ErrorCode not_a_file{"not-a-file", ExitCode::bad_file};
inline constexpr ErrorCode not_a_directory{"not-a-directory", ExitCode::bad_file};
inline constexpr ErrorCode no_such_pool{"no-such-pool", ExitCode::bad_file};
inline constexpr ErrorCode slots_do_not_fit{"slots-do-not-fit", ExitCode::bad_file};
inline constexpr ErrorCode idle_slots{"idle-slots", ExitCode::bad_file};
inline constexpr ErrorCode context_too_large{"context-too-large", ExitCode::bad_file};
inline constexpr ErrorCode unsafe_link{"unsafe-link", ExitCode::bad_file};

// A named object does not exist.
inline constexpr ErrorCode no_such_file{"no-such-file", ExitCode::absent};
inline constexpr ErrorCode no_such_template{"no-such-template", ExitCode::absent};
inline constexpr ErrorCode no_such_experiment{"no-such-experiment", ExitCode::absent};
inline constexpr ErrorCode no_such_trial{"no-such-trial", ExitCode::absent};
inline constexpr ErrorCode no_such_checkpoint{"no-such-checkpoint", ExitCode::absent};
inline constexpr ErrorCode no_such_label{"no-such-label", ExitCode::absent};
inline constexpr ErrorCode no_such_model{"no-such-model", ExitCode::absent};
inline constexpr ErrorCode no_such_version{"no-such-version", ExitCode::absent};

inline constexpr ErrorCode no_such_job{"no-such-job", ExitCode::absent};

// The queue.
inline constexpr ErrorCode job_not_waiting{"job-not-waiting", ExitCode::could_not};
inline constexpr ErrorCode no_legal_move{"no-legal-move", ExitCode::could_not};

// Slurm.
inline constexpr ErrorCode slurm_refused{"slurm-refused", ExitCode::refused_by_slurm};
inline constexpr ErrorCode slurm_unreachable{"slurm-unreachable", ExitCode::slurm_unreachable};
inline constexpr ErrorCode submission_unclear{"submission-unclear", ExitCode::slurm_unreachable};
inline constexpr ErrorCode slurm_output{"slurm-output", ExitCode::could_not};
inline constexpr ErrorCode not_in_slurm{"not-in-slurm", ExitCode::could_not};
inline constexpr ErrorCode superseded{"superseded", ExitCode::could_not};

// The tracker's HTTP interface.
inline constexpr ErrorCode bad_request{"bad-request", ExitCode::usage};
inline constexpr ErrorCode unauthorized{"unauthorized", ExitCode::could_not};
inline constexpr ErrorCode forbidden{"forbidden", ExitCode::could_not};
inline constexpr ErrorCode no_such_route{"no-such-route", ExitCode::absent};

// Files and formats of det-submit.
inline constexpr ErrorCode file_system{"file-system", ExitCode::could_not};
inline constexpr ErrorCode permission{"permission", ExitCode::could_not};
inline constexpr ErrorCode unsafe_owner{"unsafe-owner", ExitCode::could_not};
inline constexpr ErrorCode name_taken{"name-taken", ExitCode::could_not};
inline constexpr ErrorCode not_yours{"not-yours", ExitCode::could_not};
inline constexpr ErrorCode damaged{"damaged", ExitCode::could_not};
inline constexpr ErrorCode newer_format{"newer-format", ExitCode::could_not};
inline constexpr ErrorCode experiment_packed{"experiment-packed", ExitCode::could_not};
inline constexpr ErrorCode journal_damaged{"journal-damaged", ExitCode::damaged};
inline constexpr ErrorCode checkpoint_damaged{"checkpoint-damaged", ExitCode::damaged};
inline constexpr ErrorCode checkpoint_replaced{"checkpoint-replaced", ExitCode::damaged};
inline constexpr ErrorCode checkpoint_not_yours{"checkpoint-not-yours", ExitCode::damaged};

// Running.
inline constexpr ErrorCode process{"process", ExitCode::could_not};
inline constexpr ErrorCode timed_out{"timed-out", ExitCode::timed_out};
inline constexpr ErrorCode interrupted{"interrupted", ExitCode::interrupted};
inline constexpr ErrorCode transport{"transport", ExitCode::could_not};
inline constexpr ErrorCode misuse{"misuse", ExitCode::could_not};
inline constexpr ErrorCode wrong_state{"wrong-state", ExitCode::could_not};
inline constexpr ErrorCode experiment_failed{"experiment-failed", ExitCode::could_not};
inline constexpr ErrorCode internal{"internal", ExitCode::internal};

}  // namespace codes

/// The code of this name, for an error that another process has reported. nullopt for other names, and for
/// codes that are not defined in this file.
std::optional<ErrorCode> find_error_code(std::string_view name);

}  // namespace det
