#include "config/explain_config.hpp"

#include <det/yaml/render.hpp>

#include <fmt/format.h>

namespace det::cli {

std::string explain_config(yaml::Node const& document, std::optional<std::string> const& template_name,
                           std::optional<std::string> const& template_file) {
    auto const origin = [&](yaml::Node const& value) -> std::string {
        auto const& place = value.location();
        if (!place.is_written() || place.source->name() == "defaults") return "default";
        // Leaves out the value that was typed with --config: it may be a secret.
        if (place.source->name() == "--config") {
            auto const& typed = place.source->text();
            return "--config " + typed.substr(0, typed.find('='));
        }
        bool const is_template = template_file && place.source->name() == *template_file;
        auto const file = is_template ? "template " + template_name.value_or("") : place.source->name();
        return fmt::format("{}:{}", file, place.line);
    };
    return yaml::render_yaml(document, origin);
}

}  // namespace det::cli
