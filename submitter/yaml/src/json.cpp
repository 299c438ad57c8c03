#include <det/yaml/render.hpp>

#include <nlohmann/json.hpp>

namespace det::yaml {

nlohmann::json to_json(Node const& node) {
    if (auto const* value = node.boolean()) return *value;
    if (auto const* value = node.integer()) return *value;
    if (auto const value = node.number()) return *value;
    if (auto const* value = node.text()) return *value;
    if (node.is_list()) {
        auto list = nlohmann::json::array();
        for (auto const& item : node.items()) list.push_back(to_json(item));
        return list;
    }
    if (node.is_map()) {
        auto object = nlohmann::json::object();
        for (auto const& entry : node.entries()) object[entry.key] = to_json(entry.value);
        return object;
    }
    return nullptr;
}

}  // namespace det::yaml
