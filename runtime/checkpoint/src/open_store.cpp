#include <det/checkpoint/open_store.hpp>
#include <det/checkpoint/shared_fs_store.hpp>

#include <fmt/format.h>

namespace det::checkpoint {
namespace {

using Opened = Result<std::unique_ptr<Store>>;

constexpr std::string_view default_type = "shared_fs";

std::string type_of(ExperimentSpec const& spec) {
    auto const storage = spec.config.find("checkpoint_storage");
    if (storage == spec.config.end() || !storage->is_object()) return std::string(default_type);
    return storage->value("type", std::string(default_type));
}

/// A directory is shared_fs's, too: only its path is configured in another way.
Opened open_shared_fs(ExperimentSpec const& spec) {
    return Opened(std::make_unique<SharedFsStore>(spec.checkpoint_path));
}

struct Type {
    std::string_view name;
    Opened (*open)(ExperimentSpec const& spec);
};
constexpr Type types[] = {{"shared_fs", open_shared_fs}, {"directory", open_shared_fs}};

}  // namespace

Opened open_store(ExperimentSpec const& spec) {
    auto const name = type_of(spec);
    for (auto const& type : types) {
        if (type.name == name) return type.open(spec);
    }
    return Error{codes::not_supported,
                 fmt::format("checkpoint storage '{}' is not built into this program", name),
                 "use 'type: shared_fs' with a directory that all nodes see as 'host_path'"};
}

}  // namespace det::checkpoint
