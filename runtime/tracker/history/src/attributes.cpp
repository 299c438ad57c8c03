#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/tracker/history/attributes.hpp>

#include <array>

namespace det::tracker::history {
namespace {

using Apply = void (*)(Attributes&, Json const& body);

std::string text_of(Json const& body, char const* key) {
    auto const found = body.find(key);
    return found != body.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::int64_t> number_of(Json const& object, char const* key) {
    auto const found = object.find(key);
    if (found == object.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<std::int64_t>();
}

/// searcher.max_concurrent_trials: 0 means no limit.
std::optional<std::int64_t> concurrent_trials_of(Json const& object, char const* key) {
    auto const number = number_of(object, key);
    return number && *number > 0 ? number : std::nullopt;
}

/// Applies the keys of a continuation that can also be changed afterwards.
void apply_continuation(Attributes& all, Json const& body) {
    for (auto const& change : body.value("changes", Json::array())) {
        if (!change.is_object()) continue;
        auto const key = text_of(change, "key");
        if (key == "resources.max_slots") all.max_slots = number_of(change, "to");
        if (key == "searcher.max_concurrent_trials")
            all.max_concurrent_trials = concurrent_trials_of(change, "to");
    }
}

struct ChangeKind {
    std::string_view kind;
    Apply apply;
};

constexpr std::array<ChangeKind, 10> kinds{{
    {"archived", [](Attributes& all, Json const&) { all.is_archived = true; }},
    {"unarchived", [](Attributes& all, Json const&) { all.is_archived = false; }},
    {"renamed", [](Attributes& all, Json const& body) { all.name = text_of(body, "name"); }},
    {"described", [](Attributes& all, Json const& body) { all.description = text_of(body, "description"); }},
    {"noted", [](Attributes& all, Json const& body) { all.notes = text_of(body, "notes"); }},
    {"labelled", [](Attributes& all, Json const& body) { all.labels.insert(text_of(body, "label")); }},
    {"unlabelled", [](Attributes& all, Json const& body) { all.labels.erase(text_of(body, "label")); }},
    {event_kinds::continued, apply_continuation},
    {"limited", [](Attributes& all, Json const& body) { all.max_slots = number_of(body, "max_slots"); }},
    {"trials-limited",
     [](Attributes& all, Json const& body) {
         all.max_concurrent_trials = concurrent_trials_of(body, "max_concurrent_trials");
     }},
}};

Attributes attributes_in(ExperimentSpec const& spec) {
    Attributes all;
    all.name = spec.name;
    all.description = text_of(spec.config, "description");
    if (auto const labels = spec.config->find("labels"); labels != spec.config->end() && labels->is_array()) {
        for (auto const& label : *labels) {
            if (label.is_string()) all.labels.insert(label.get<std::string>());
        }
    }
    all.max_slots = number_of(spec.config->value("resources", Json::object()), "max_slots");
    if (spec.searcher.options->is_object())
        all.max_concurrent_trials = concurrent_trials_of(spec.searcher.options, "max_concurrent_trials");
    return all;
}

}  // namespace

Attributes attributes_of(ExperimentRecord const& record) {
    auto all = record.spec ? attributes_in(*record.spec) : Attributes{};
    for (auto const& event : record.events) {
        for (auto const& [kind, apply] : kinds) {
            if (kind == event.kind && event.body->is_object()) apply(all, *event.body);
        }
    }
    return all;
}

namespace changes {

Change archive() { return {"archived", Json::object()}; }
Change unarchive() { return {"unarchived", Json::object()}; }
Change set_name(std::string const& name) { return {"renamed", Json{{"name", name}}}; }
Change set_description(std::string const& description) {
    return {"described", Json{{"description", description}}};
}
Change set_notes(std::string const& notes) { return {"noted", Json{{"notes", notes}}}; }
Change add_label(std::string const& label) { return {"labelled", Json{{"label", label}}}; }
Change remove_label(std::string const& label) { return {"unlabelled", Json{{"label", label}}}; }
Change set_max_slots(std::optional<std::int64_t> max_slots) {
    return {"limited", Json{{"max_slots", json_or_null(max_slots)}}};
}

Change set_max_concurrent_trials(std::int64_t trials) {
    return {"trials-limited", Json{{"max_concurrent_trials", trials}}};
}

}  // namespace changes
}  // namespace det::tracker::history
