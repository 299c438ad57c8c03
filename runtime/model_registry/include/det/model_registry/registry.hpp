#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/event.hpp>

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace det::model_registry {

/// What users write about a model or a version.
struct Attributes {
    std::string name;  // of a model: unique; of a version: may be empty
    std::string description;
    std::string notes;
    std::vector<std::string> labels;
    JsonValue metadata;  // an object
};

/// A checkpoint of a version, as it was when it was registered.
struct RegisteredCheckpoint {
    std::string uuid;
    std::string run;  // "7.3.0", the run that saved it; empty: it was imported
    std::uint64_t steps_completed = 0;
};

struct ModelVersion {
    std::uint32_t number = 0;  // from 1; a number is never used again
    RegisteredCheckpoint checkpoint;
    Attributes attributes;
    UtcTime created;
    UtcTime updated;
    std::string by;  // user@host
};

struct Model {
    std::uint32_t id = 0;  // from 1; never used again
    Attributes attributes;
    UtcTime created;
    UtcTime updated;
    std::string by;  // user@host that created it
    bool is_archived = false;
    std::vector<ModelVersion> versions = {};  // without deleted ones, by number
    std::uint32_t versions_made = 0;          // the number of the newest version, also if it was deleted
};

/// All models that were not deleted, by id.
struct Registry {
    std::vector<Model> models;
    std::uint32_t models_made = 0;  // the id of the newest model, also if it was deleted
    std::uint32_t last_event = 0;   // its number; 0: no change was made
};

/// Applies the events in order. Ignores changes that this program does not know. codes::damaged if an event
/// changes a model or version that does not exist then, or has a value of another type. Pure.
Result<Registry> registry_of(std::span<Event const> events);

/// Reads the registry; empty if the root has none. codes::damaged as registry_of(), and if an event is
/// missing or can't be read; codes::unsafe_owner if others can write it.
Result<Registry> load_registry(RootLayout const& root);

/// A version that holds a checkpoint.
struct RegisteredVersion {
    std::uint32_t model_id = 0;
    std::string model;  // its name
    std::uint32_t version = 0;
    RegisteredCheckpoint checkpoint;
};
/// The versions of all models, also of archived ones.
std::vector<RegisteredVersion> list_registered(Registry const& registry);

/// The UUIDs of the checkpoints of list_registered().
std::set<std::string> registered_checkpoints(Registry const& registry);

/// Decides about a change: returns the body of its event (model_changes.hpp), or why it is refused.
using Decide = std::function<Result<JsonValue>(Registry const&)>;

/// Calls `decide` with the present registry and records its change. If another process changes the registry
/// in between, reads it again and calls `decide` again. Makes the directories. The event is synced to disk.
/// \return the registry right after the change; the error of `decide`; codes::document_too_large if the event
/// has more
///     than 1 MiB
Result<Registry> change_registry(RootLayout const& root, UtcTime now, std::string const& author,
                                 Decide const& decide);

}  // namespace det::model_registry
