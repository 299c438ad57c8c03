#include "save_agreement.hpp"

#include <det/checkpoint/error_exchange.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::checkpoint {
namespace {

/// The message that each rank sends to the other ranks when a save begins.
struct SaveRequest {
    std::string uuid;
    std::uint64_t steps_completed = 0;
    bool is_planned = false;  // the plan of the last save still fits this rank's state
};

Status check_steps(std::vector<SaveRequest> const& all) {
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].steps_completed != all[0].steps_completed) {
            return Error{codes::misuse, fmt::format("rank 0 saves after {} steps, rank {} after {}",
                                                    all[0].steps_completed, rank, all[rank].steps_completed)};
        }
    }
    return Ok{};
}

}  // namespace

template <>
struct Codec<SaveRequest> {
    static std::string encode(SaveRequest const& request) {
        return to_line(Json{request.uuid, request.steps_completed, request.is_planned});
    }
    static Result<SaveRequest> decode(std::string const& text) {
        return decode_json("a rank's save request", [&] {
            auto const json = Json::parse(text);
            return SaveRequest{json.at(0), json.at(1), json.at(2)};
        });
    }
};

Result<SaveAgreement::Agreed> SaveAgreement::agree(std::uint64_t steps_completed, State const& state,
                                                   Status const& own_status) {
    auto slices = slices_of(state);
    auto const checked = own_status ? check_state(state) : own_status;
    auto const own = checked ? Result(SaveRequest{peers_.is_chief() ? make_uuid() : "", steps_completed,
                                                  plan_ && slices == slices_})
                             : Result<SaveRequest>(checked.error());
    DET_TRY_ASSIGN(auto const all, gather_values(peers_, own));
    DET_TRY(check_steps(all));
    if (std::ranges::all_of(all, &SaveRequest::is_planned)) return Agreed{all[0].uuid, plan_};
    DET_TRY_ASSIGN(auto plan, plan_anew(std::move(slices)));
    return Agreed{all[0].uuid, std::move(plan)};
}

Result<std::shared_ptr<WritePlan const>> SaveAgreement::plan_anew(std::vector<LocalTensorSlice> slices) {
    plan_.reset();
    DET_TRY_ASSIGN(auto const texts, peers_.allgather(render_slices(slices)));
    std::vector<std::vector<LocalTensorSlice>> ranks;
    for (auto const& text : texts) {
        DET_TRY_ASSIGN(auto parsed, parse_slices(text));
        ranks.push_back(std::move(parsed));
    }
    DET_TRY_ASSIGN(auto plan, plan_writes(ranks));
    plan_ = std::make_shared<WritePlan const>(std::move(plan));
    slices_ = std::move(slices);
    return plan_;
}

}  // namespace det::checkpoint
