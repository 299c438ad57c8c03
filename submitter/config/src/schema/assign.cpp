#include "assign.hpp"

namespace det::config::schema {

void assign_keys(void* object, yaml::Node const& value, std::span<Key const> keys) {
    for (auto const& key : keys) {
        if (key.assign == nullptr) continue;
        auto const* present = value.find(key.name);
        if (present != nullptr && !present->is_null()) key.assign(object, *present, key.type);
    }
}

void assign_object(void* object, yaml::Node const& value, Type const& type) {
    assign_keys(object, value, type.keys);
    auto const* member = find_member(type, value);
    if (member != nullptr && member->assign != nullptr) member->assign(object, value, member->keys);
}

void assign(bool& field, yaml::Node const& value, Type const&) { field = *value.boolean(); }
void assign(std::int64_t& field, yaml::Node const& value, Type const&) { field = *value.integer(); }
// The types of these fields limit the values.
void assign(std::uint32_t& field, yaml::Node const& value, Type const&) {
    field = static_cast<std::uint32_t>(*value.integer());
}
void assign(int& field, yaml::Node const& value, Type const&) { field = static_cast<int>(*value.integer()); }
void assign(double& field, yaml::Node const& value, Type const&) { field = *value.number(); }
void assign(std::string& field, yaml::Node const& value, Type const&) { field = *value.text(); }
void assign(yaml::Node& field, yaml::Node const& value, Type const&) { field = value; }

void assign(Entrypoint& field, yaml::Node const& value, Type const& type) {
    if (value.is_text()) {
        field = *value.text();
    } else {
        assign(field.emplace<std::vector<std::string>>(), value, type);
    }
}

void assign(Length& field, yaml::Node const& value, Type const&) {
    constexpr std::string_view units[] = {"batches", "records", "epochs"};
    if (value.integer() != nullptr) field = {Length::Unit::none, *value.integer()};
    for (std::size_t i = 0; i < std::size(units); ++i) {
        auto const* count = value.find(units[i]);
        if (count != nullptr && !count->is_null()) field = {static_cast<Length::Unit>(i), *count->integer()};
    }
}

void assign(EnvironmentVariable& field, yaml::Node const& value, Type const&) {
    // Only the first '=' separates the name from the value.
    auto const& written = *value.text();
    auto const end = written.find('=');
    field = {written.substr(0, end), end == std::string::npos ? "" : written.substr(end + 1)};
}

void assign(SbatchArgs& field, yaml::Node const& value, Type const& type) {
    std::vector<std::string> items;
    assign(items, value, type);
    // The check has refused what only a batch script may set.
    field = parse_sbatch_args(items, SbatchUse::batch_script);
}

}  // namespace det::config::schema
