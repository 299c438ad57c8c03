#include "gpus.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <map>
#include <optional>

namespace det::launch::node {
namespace {

/// Finds a line like "GPU UUID:   GPU-5ba4..." and returns the text after the colon.
std::optional<std::string_view> find_field(std::string_view text, std::string_view name) {
    for (auto const line : split_lines(text)) {
        auto const colon = line.find(':');
        if (colon != std::string_view::npos && trim(line.substr(0, colon)) == name)
            return trim(line.substr(colon + 1));
    }
    return std::nullopt;
}

/// The texts of the wanted numbers, "0,2"; all if one is unknown.
std::vector<std::string> pick(std::map<int, std::string> const& by_number, std::string_view wanted) {
    std::vector<std::string> picked, all;
    for (auto const& [number, text] : by_number) all.push_back(text);
    for (auto const piece : split(wanted, ',')) {
        auto const found = by_number.find(parse_integer<int>(piece).value_or(-1));
        if (found == by_number.end()) return all;
        picked.push_back(found->second);
    }
    return picked;
}

}  // namespace

std::vector<std::string> list_gpu_uuids(std::string_view wanted, std::filesystem::path const& driver) {
    std::map<int, std::string> by_number;
    for (auto const& bus_id : list_directory(driver).value_or(std::vector<std::string>())) {
        auto const text = read_file(driver / bus_id / "information").value_or("");
        auto const uuid = find_field(text, "GPU UUID");
        auto const number = parse_integer<int>(find_field(text, "Device Minor").value_or(""));
        if (uuid && number) by_number.emplace(*number, *uuid);
    }
    return pick(by_number, wanted);
}

std::vector<std::string> list_amd_gpu_uuids(std::string_view wanted, std::filesystem::path const& sysfs) {
    constexpr std::string_view amd = "0x1002", render_node = "renderD";
    auto const drm = sysfs / "class/drm";
    std::map<int, std::string> by_minor, by_number;
    for (auto const& name : list_directory(drm).value_or(std::vector<std::string>())) {
        if (!name.starts_with(render_node)) continue;
        auto const minor = parse_integer<int>(std::string_view(name).substr(render_node.size()));
        auto const device = drm / name / "device";
        if (!minor || trim(read_file(device / "vendor").value_or("")) != amd) continue;
        auto const id = std::string(trim(read_file(device / "unique_id").value_or("")));
        by_minor.emplace(*minor, id.starts_with("0x") ? id.substr(2) : id);
    }
    for (auto const& [minor, id] : by_minor) {
        if (id.empty()) return {};
        by_number.emplace(static_cast<int>(by_number.size()), "GPU-" + id);
    }
    return pick(by_number, wanted);
}

std::vector<std::string> list_gpu_bus_ids(std::filesystem::path const& driver) {
    std::map<int, std::string> by_number;
    for (auto const& bus_id : list_directory(driver).value_or(std::vector<std::string>())) {
        auto const text = read_file(driver / bus_id / "information").value_or("");
        auto const number = parse_integer<int>(find_field(text, "Device Minor").value_or(""));
        if (number) by_number.emplace(*number, to_lower(bus_id));
    }
    std::vector<std::string> bus_ids;
    for (auto& [number, bus_id] : by_number) bus_ids.push_back(std::move(bus_id));
    return bus_ids;
}

}  // namespace det::launch::node
