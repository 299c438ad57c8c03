#include "outcomes.hpp"

using namespace det;
using capi::guarded, capi::require;

namespace det::capi {

Status first_failure(core::Checkpoint::Outcomes const& outcomes) {
    for (auto const& outcome : outcomes) {
        if (outcome.error) return *outcome.error;
    }
    return Ok{};
}

void write_uuid(char* to, std::string_view uuid) {
    auto const length = std::min<std::size_t>(uuid.size(), DET_UUID_SIZE - 1);
    std::memcpy(to, uuid.data(), length);
    to[length] = '\0';
}

}  // namespace det::capi

size_t det_outcomes_count(det_outcomes const* outcomes) {
    return outcomes == nullptr ? 0 : outcomes->values.size();
}

det_status det_outcomes_get(det_outcomes const* outcomes, size_t index, det_outcome* outcome) {
    return guarded([&]() -> Status {
        DET_TRY(require(outcomes, "outcomes", outcome, "outcome"));
        DET_TRY(capi::check_size(outcome->struct_size, "det_outcome"));
        if (index >= outcomes->values.size()) return Error{codes::misuse, "there are not so many outcomes"};
        auto const& ended = outcomes->values[index];
        det_outcome told{};
        capi::write_uuid(told.uuid, ended.uuid);
        told.steps_completed = ended.steps_completed;
        if (ended.error) {
            told.status = to_int(ended.error->code.exit);
            told.code = ended.error->code.name.data();
            told.message = ended.error->message.c_str();
        }
        capi::write(outcome, told);
        return Ok{};
    });
}

void det_outcomes_destroy(det_outcomes* outcomes) { delete outcomes; }
