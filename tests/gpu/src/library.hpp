#pragma once
#include <det/det.h>

#include <string>

#include "driver.hpp"

namespace det::gpu {

/// Throws a Failure with libdet's error if a call of det.h did not succeed.
void must(det_status status);

/// Throws a Failure if a call of det.h did succeed, or failed with another code.
void must_fail(det_status status, std::string const& code, std::string const& text);

/// Fills the tensors of a state from a checkpoint. Returns the number of its steps.
std::uint64_t load(det_context* context, std::string const& uuid, det_state const* state);

/// A single rank with the device, outside of an experiment.
class Context {
public:
    /// \param checkpoint_path  the directory for checkpoints
    explicit Context(std::string const& checkpoint_path = "checkpoints");
    /// One of several ranks on this node. `group` names them.
    Context(int rank, int size, char const* group);
    Context(Context const&) = delete;
    Context& operator=(Context const&) = delete;
    ~Context();

    operator det_context*() const { return context_; }
    /// Collective.
    void close();

private:
    det_context* context_ = nullptr;
};

}  // namespace det::gpu
