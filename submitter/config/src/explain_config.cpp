#include <det/config/explain_config.hpp>
#include <det/yaml/render.hpp>

#include <fmt/format.h>

namespace det::config {

std::string explain_config(yaml::Node const& document, std::optional<NamedTemplate> const& used) {
    auto const origin = [&](yaml::Node const& value) -> std::string {
        auto const& location = value.location();
        if (!location.is_written() || location.source->name() == "defaults") return "default";
        // Leaves out the value that was typed with --config: it may be a secret.
        if (location.source->name() == "--config") {
            auto const& typed = location.source->text();
            return "--config " + typed.substr(0, typed.find('='));
        }
        if (location.source->name() == "--test") return location.source->name();
        bool const is_template = used && location.source->name() == used->file;
        auto const file = is_template ? "template " + used->name : location.source->name();
        return fmt::format("{}:{}", file, location.line);
    };
    return yaml::render_yaml(document, origin);
}

}  // namespace det::config
