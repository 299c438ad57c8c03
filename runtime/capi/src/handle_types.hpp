#pragma once
#include <det/core/context.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "boundary.hpp"

// The objects behind the handles of det.h. det_operation, det_buffer and det_checkpoint_draft keep the
// core::Context, so that a program may destroy the det_context before them. The others hold only values.

struct det_context {
    std::shared_ptr<det::core::Context> core;
    std::string info, hyperparameters;      // JSON; info is empty outside of a run
    det::core::Checkpoint::Outcomes ended;  // finished saves that have not been returned to the caller yet
};

struct det_operation {
    std::shared_ptr<det::core::Context> keeps;
    det::collectives::Handle handle;
};

struct det_buffer {
    std::shared_ptr<det::core::Context> keeps;
    det::collectives::Buffer buffer;
};

struct det_checkpoint_draft {
    std::shared_ptr<det::core::Context> context;
    det::core::Checkpoint::Draft draft;
    bool is_sharded = false;
    bool is_over = false;  // committed or given up
};

struct det_state {
    det::checkpoint::State tensors;
    std::filesystem::path directory;  // its files become files of the checkpoint; empty: none
};

struct det_outcomes {
    det::core::Checkpoint::Outcomes values;
};

struct det_strings {
    std::vector<std::string> values;
};

namespace det::capi {

/// A list for the caller, which owns it.
inline det_strings* list_of_one(std::string text) { return new det_strings{{std::move(text)}}; }

/// Returns the error of the first save that failed, or Ok if all succeeded.
inline Status first_failure(core::Checkpoint::Outcomes const& outcomes) {
    for (auto const& outcome : outcomes) {
        if (outcome.error) return *outcome.error;
    }
    return Ok{};
}

}  // namespace det::capi
