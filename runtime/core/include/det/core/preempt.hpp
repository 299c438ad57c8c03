#pragma once
#include <det/foundation/result.hpp>

namespace det::core {

struct Session;

/// The wish that this trial gives up its nodes.
class Preempt {
public:
    explicit Preempt(Session& session) : session_(session) {}

    /// Collective: every rank calls it at the same steps, and all get the same answer: true once any of them
    /// has been given notice. At the first true the chief acknowledges in its journal: from then on the end
    /// of the program is a pause to be resumed, not the end of the training. Save, then return from main with
    /// 0.
    Result<bool> should_preempt();

private:
    Session& session_;
    bool acknowledged_ = false;
};

}  // namespace det::core
