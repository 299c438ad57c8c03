#include "save_agreement.hpp"

#include <det/foundation/uuid.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "error_message.hpp"

namespace det::checkpoint {
namespace {

/// What a rank says first.
struct Greeting {
    std::string uuid;
    std::uint64_t steps_completed = 0;
    bool is_planned = false;  // its plan of the last time still fits
    std::string error;        // empty: none
};

std::string render(Greeting const& g) {
    return to_line(Json{g.uuid, g.steps_completed, g.is_planned, g.error});
}

Result<Greeting> parse(std::string const& text) {
    return decode_json("a rank's greeting", [&] {
        auto const json = Json::parse(text);
        return Greeting{json.at(0), json.at(1), json.at(2), json.at(3)};
    });
}

Status check(std::vector<Greeting> const& all) {
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (!all[rank].error.empty())
            return parse_error(all[rank].error).noting(fmt::format("rank {} says so", rank));
        if (all[rank].steps_completed != all[0].steps_completed) {
            return Error{codes::misuse, fmt::format("rank 0 saves after {} steps, rank {} after {}",
                                                    all[0].steps_completed, rank, all[rank].steps_completed)};
        }
    }
    return Ok{};
}

}  // namespace

Result<SaveAgreement::Agreed> SaveAgreement::agree(std::uint64_t steps_completed, State const& state,
                                                   Status const& own_status) {
    auto slices = slices_of(state);
    Greeting own{peers_.is_chief() ? make_uuid() : "", steps_completed, plan_ && slices == slices_, ""};
    auto const checked = own_status ? check_state(state) : own_status;
    if (!checked) own.error = render_error(checked.error());
    DET_TRY_ASSIGN(auto const texts, peers_.allgather(render(own)));
    std::vector<Greeting> all;
    for (auto const& text : texts) {
        DET_TRY_ASSIGN(auto greeting, parse(text));
        all.push_back(std::move(greeting));
    }
    DET_TRY(check(all));
    if (std::ranges::all_of(all, &Greeting::is_planned)) return Agreed{all[0].uuid, plan_};
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
