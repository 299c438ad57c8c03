// The keys of elastic trials: a range of slots, the shortest time limit, and when a run asks for
// more nodes.
#include <det/config/site_file.hpp>

#include <fmt/format.h>

#include "../check.hpp"
#include "assign.hpp"
#include "effects.hpp"
#include "tables.hpp"

namespace det::config::schema {
namespace {

constexpr Key slot_range_keys[] = {
    required({"min", positive_integer, "", "fewest slots with which a run starts", no_field,
              by_det_submit("sbatch --nodes=MIN-MAX")}),
    required({"max", positive_integer, "", "most slots of a run", no_field,
              by_det_submit("sbatch --nodes=MIN-MAX")}),
};
constinit Type const slot_range = object_of(slot_range_keys);
constexpr Type const* trial_slots_alternatives[] = {&non_negative_integer, &slot_range};

std::int64_t const* integer_at(yaml::Node const& value, std::string_view key) {
    auto const* found = value.find(key);
    return found != nullptr ? found->integer() : nullptr;
}

void require_ascending_range(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const* least = integer_at(value, "min");
    auto const* most = integer_at(value, "max");
    if (least == nullptr || most == nullptr || *least <= *most) return;
    checker.refuse_value(
        value,
        fmt::format("{}.min is {}, more than {}.max, which is {}", path.text(), *least, path.text(), *most),
        fmt::format("for example {{min: {}, max: {}}}", *most, *least));
}

void require_time_limit(yaml::Node const& value, Path const& path, Checker& checker) {
    if (parse_time_limit_s(*value.text()).value_or(0) > 0) return;
    checker.refuse_value(
        value, fmt::format("{} must be a time limit of Slurm, found '{}'", path.text(), *value.text()),
        "for example 30:00 (minutes), 4:00:00 or 1-12:00:00");
}

constexpr Key grow_keys[] = {
    required({"after", duration, "", "how long a run stays at its size before it asks for more: 30m",
              no_field, by_det_submit("when a run asks for more nodes", if_not_elastic)}),
    {"every", duration, "", "the shortest time between two such requeues of a trial: 2h; default: 1h",
     no_field, by_det_submit("how often a trial asks for more nodes", if_not_elastic)},
};

}  // namespace

constinit Type const trial_slots{.shape = Shape::either,
                                 .expected = "an integer of at least 0 or a map",
                                 .hint = "for example 8, or {min: 8, max: 32}",
                                 .alternatives = trial_slots_alternatives,
                                 .merge = Merge::atomic,
                                 .rule = require_ascending_range};

constinit Type const time_limit{.shape = Shape::text, .rule = require_time_limit};

constinit Type const grow = object_of(grow_keys);

void assign_trial_slots(void* object, yaml::Node const& value, Type const&) {
    auto& owner = *static_cast<Resources*>(object);
    owner.slots_per_trial_min.reset();
    if (value.integer() != nullptr) {
        owner.slots_per_trial = *value.integer();
    } else if (auto const* least = integer_at(value, "min"), *most = integer_at(value, "max");
               least != nullptr && most != nullptr) {
        owner.slots_per_trial = *most;
        owner.slots_per_trial_min = *least;
    }
}

}  // namespace det::config::schema
