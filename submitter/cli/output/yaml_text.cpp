#include "output/yaml_text.hpp"

#include <det/protocol/json.hpp>
#include <det/yaml/render.hpp>

namespace det::cli {
namespace {

yaml::Node to_node(Json const& json) {
    if (json.is_object()) {
        std::vector<yaml::Node::Entry> entries;
        for (auto const& [key, value] : json.items()) entries.push_back({key, {}, to_node(value)});
        return {std::move(entries), {}};
    }
    if (json.is_array()) {
        yaml::Node::List items;
        for (auto const& item : json) items.push_back(to_node(item));
        return {std::move(items), {}};
    }
    using Scalar = yaml::Node::Scalar;
    if (json.is_boolean()) return {Scalar(json.get<bool>()), {}};
    if (json.is_number_integer()) return {Scalar(json.get<std::int64_t>()), {}};
    if (json.is_number()) return {Scalar(json.get<double>()), {}};
    if (json.is_string()) return {Scalar(json.get<std::string>()), {}};
    return {};
}

}  // namespace

std::string to_yaml(Json const& json) { return yaml::render_yaml(to_node(parse_json(to_line(json)))); }

}  // namespace det::cli
