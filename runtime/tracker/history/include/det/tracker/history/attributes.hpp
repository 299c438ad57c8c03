#pragma once
#include <det/tracker/history/history.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace det::tracker::history {

/// The attributes of an experiment that users may change after its creation.
struct Attributes {
    std::string name;
    std::string description;
    std::string notes;
    std::set<std::string> labels;
    bool is_archived = false;
    std::optional<std::int64_t> max_slots;              // empty: no limit
    std::optional<std::int64_t> max_concurrent_trials;  // empty: no limit
};

/// The attributes of the specification with the changes of all events applied. Pure.
Attributes attributes_of(ExperimentRecord const& record);

/// The events that change attributes: commands write them, attributes_of() reads them.
namespace changes {
using Change = std::pair<std::string_view, Json>;  // kind and body of an event
Change archive();
Change unarchive();
Change set_name(std::string const& name);
Change set_description(std::string const& description);
Change set_notes(std::string const& notes);
Change add_label(std::string const& label);
Change remove_label(std::string const& label);
Change set_max_slots(std::optional<std::int64_t> max_slots);
Change set_max_concurrent_trials(std::int64_t trials);
}  // namespace changes

}  // namespace det::tracker::history
