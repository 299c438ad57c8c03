#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/model_registry/registry.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::model_registry {
namespace {

constexpr std::string_view event_kind = "model";  // of all events, so that each number is used once

/// Throws Json::exception, which registry_of() converts to an error.
[[noreturn]] void refuse(std::string const& message) {
    throw Json::other_error::create(501, message, static_cast<Json*>(nullptr));
}

Model& model_in(Registry& registry, Json const& body) {
    auto const id = body.at("model").get<std::uint32_t>();
    auto const found = std::ranges::find(registry.models, id, &Model::id);
    if (found == registry.models.end()) refuse(fmt::format("there is no model {}", id));
    return *found;
}

ModelVersion& version_in(Model& model, Json const& body) {
    auto const number = body.at("version").get<std::uint32_t>();
    auto const found = std::ranges::find(model.versions, number, &ModelVersion::number);
    if (found == model.versions.end()) refuse(fmt::format("there is no version {}", number));
    return *found;
}

/// Takes the attributes that the body has.
void read_attributes(Json const& body, Attributes& attributes) {
    struct TextField {
        char const* key;
        std::string Attributes::*member;
    };
    constexpr TextField texts[] = {{"name", &Attributes::name},
                                   {"description", &Attributes::description},
                                   {"notes", &Attributes::notes}};
    for (auto const& [key, member] : texts) {
        if (body.contains(key)) body.at(key).get_to(attributes.*member);
    }
    if (body.contains("labels")) {
        attributes.labels.clear();
        for (auto const& label : body.at("labels")) attributes.labels.push_back(label.get<std::string>());
    }
    if (!body.contains("metadata")) return;
    if (!body.at("metadata").is_object()) refuse("the metadata are no object");
    attributes.metadata = Json(body.at("metadata"));
}

void apply_created(Registry& registry, Event const& event) {
    auto const& body = *event.body;
    Model model{body.at("model").get<std::uint32_t>(), {}, event.time, event.time, event.by};
    if (model.id != registry.models_made + 1)
        refuse(fmt::format("model {} is created out of order", model.id));
    read_attributes(body, model.attributes);
    registry.models_made = model.id;
    registry.models.push_back(std::move(model));
}

void apply_updated(Registry& registry, Event const& event) {
    auto const& body = *event.body;
    auto& model = model_in(registry, body);
    model.updated = event.time;
    if (!body.contains("version")) return read_attributes(body, model.attributes);
    auto& version = version_in(model, body);
    version.updated = event.time;
    read_attributes(body, version.attributes);
}

void apply_registered(Registry& registry, Event const& event) {
    auto const& body = *event.body;
    auto& model = model_in(registry, body);
    ModelVersion version;
    version.number = body.at("version").get<std::uint32_t>();
    if (version.number != model.versions_made + 1)
        refuse(fmt::format("version {} is registered out of order", version.number));
    version.checkpoint = {body.at("checkpoint").get<std::string>(), body.value("run", ""),
                          body.value("steps_completed", std::uint64_t{0})};
    version.created = version.updated = model.updated = event.time;
    version.by = event.by;
    model.versions_made = version.number;
    model.versions.push_back(std::move(version));
}

void apply_deleted(Registry& registry, Event const& event) {
    auto const& body = *event.body;
    auto& model = model_in(registry, body);
    if (!body.contains("version")) {
        std::erase_if(registry.models, [id = model.id](Model const& each) { return each.id == id; });
        return;
    }
    auto const number = version_in(model, body).number;
    std::erase_if(model.versions, [number](ModelVersion const& each) { return each.number == number; });
    model.updated = event.time;
}

template <bool is_archived>
void apply_archived(Registry& registry, Event const& event) {
    auto& model = model_in(registry, *event.body);
    model.is_archived = is_archived;
    model.updated = event.time;
}

struct ChangeKind {
    std::string_view name;
    void (*apply)(Registry&, Event const&);
};
constexpr ChangeKind change_kinds[] = {
    {"created", apply_created},
    {"updated", apply_updated},
    {"version-registered", apply_registered},
    {"archived", apply_archived<true>},
    {"unarchived", apply_archived<false>},
    {"deleted", apply_deleted},
};

void apply_event(Registry& registry, Event const& event) {
    auto const change = event.body->at("change").get<std::string>();
    for (auto const& [name, apply] : change_kinds) {
        if (name == change) apply(registry, event);
    }
}

/// Applies the next event.
Status append(Registry& registry, Event const& event) {
    auto const number = registry.last_event + 1;
    DET_TRY(decode_json(fmt::format("event {} of the model registry", number), [&] {
        apply_event(registry, event);
        return Ok{};
    }));
    registry.last_event = number;
    return Ok{};
}

std::filesystem::path events_of(RootLayout const& root) { return root.models() / "events"; }

}  // namespace

Result<Registry> registry_of(std::span<Event const> events) {
    Registry registry;
    for (auto const& event : events) DET_TRY(append(registry, event));
    return registry;
}

Result<Registry> load_registry(RootLayout const& root) {
    auto const events = journal::load_event_sequence(events_of(root));
    auto registry = events ? registry_of(*events) : Result<Registry>(events.error());
    if (!registry) return std::move(registry).error().while_doing("reading the model registry");
    return registry;
}

std::vector<RegisteredVersion> list_registered(Registry const& registry) {
    std::vector<RegisteredVersion> registered;
    for (auto const& model : registry.models) {
        for (auto const& version : model.versions)
            registered.push_back({model.id, model.attributes.name, version.number, version.checkpoint});
    }
    return registered;
}

std::set<std::string> registered_checkpoints(Registry const& registry) {
    std::set<std::string> uuids;
    for (auto const& each : list_registered(registry)) uuids.insert(each.checkpoint.uuid);
    return uuids;
}

Result<Registry> change_registry(RootLayout const& root, UtcTime now, std::string const& author,
                                 Decide const& decide) {
    constexpr int attempts_max = 1000;
    DET_TRY(make_directories(events_of(root)));
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        DET_TRY_ASSIGN(auto registry, load_registry(root));
        DET_TRY_ASSIGN(auto body, decide(registry));
        Event const event{std::string(event_kind), now, author, std::move(body)};
        DET_TRY_ASSIGN(bool const is_recorded,
                       journal::append_event_at(events_of(root), registry.last_event + 1, event));
        if (!is_recorded) continue;
        DET_TRY(append(registry, event));
        return registry;
    }
    return Error{codes::file_system, "other processes change the model registry all the time",
                 "repeat the command"};
}

}  // namespace det::model_registry
