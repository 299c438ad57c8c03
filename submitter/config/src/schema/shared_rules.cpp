#include "shared_rules.hpp"

#include <det/foundation/text.hpp>

#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "tables.hpp"

namespace det::config::schema {
namespace {

bool is_present(yaml::Node const* node) { return node != nullptr && !node->is_null(); }

bool is_non_empty_text(yaml::Node const* node) {
    return node != nullptr && node->is_text() && !node->text()->empty();
}

void require_counts_in(yaml::Node const& value, Path const& path, Checker& checker) {
    if (hyperparameter_form(value) == HyperparameterForm::searched) {
        auto const* type = value.find("type")->text();
        bool const is_range = type != nullptr && (*type == "int" || *type == "double" || *type == "log");
        if (is_range && !is_present(value.find("count"))) {
            checker.refuse_at(
                path,
                Error{codes::missing_key, path.text() + ": grid search is in use but count was not provided",
                      "add 'count: ...': how many points to try", value.location().span()});
        }
        return;
    }
    for (auto const& entry : value.entries()) require_counts_in(entry.value, path / entry.key, checker);
    for (std::size_t i = 0; i < value.items().size(); ++i)
        require_counts_in(value.items()[i], path[i], checker);
}

}  // namespace

void require_grid_count(yaml::Node const& value, Path const& path, Checker& checker) {
    require_counts_in(value, path, checker);
}

void require_order(yaml::Node const& object, std::string_view low, std::string_view high, Bound bound,
                   Path const& path, Checker& checker) {
    auto const* low_node = object.find(low);
    auto const* high_node = object.find(high);
    if (low_node == nullptr || high_node == nullptr) return;
    auto const low_value = low_node->number();
    auto const high_value = high_node->number();
    if (!low_value || !high_value) return;
    bool const is_ordered = bound == Bound::strict ? *low_value < *high_value : *low_value <= *high_value;
    if (is_ordered) return;
    checker.refuse_value(*low_node, fmt::format("{}: {} must be less than {}, found {} and {}", path.text(),
                                                low, high, *low_value, *high_value));
}

constinit Type const absolute_path{.shape = Shape::text, .rule = require_absolute_path};

void require_absolute_path(yaml::Node const& value, Path const& path, Checker& checker) {
    if (value.text()->starts_with('/')) return;
    checker.refuse_value(value,
                         fmt::format("{} must be an absolute path, found '{}'", path.text(), *value.text()),
                         {}, fmt::format("{} must be an absolute path", path.key));
}

void require_plain_prefix(yaml::Node const& value, Path const& path, Checker& checker) {
    for (auto const part : split(*value.text(), '/')) {
        if (part != "..") continue;
        checker.refuse_value(value, fmt::format("{}: prefix cannot contain /../", path.text()));
        return;
    }
}

void require_project_with_workspace(yaml::Node const& config, Checker& checker) {
    auto const* workspace = config.find("workspace");
    auto const* project = config.find("project");
    if (is_non_empty_text(workspace) == is_non_empty_text(project)) return;
    checker.refuse_value(is_non_empty_text(workspace) ? *workspace : *project,
                         "workspace and project go together: only one of them is set",
                         "set both, or neither");
}

void require_grid_counts(yaml::Node const& config, Path const& path, Checker& checker) {
    auto const* searcher_node = config.find("searcher");
    auto const* name = searcher_node != nullptr ? searcher_node->find("name") : nullptr;
    auto const* space = config.find("hyperparameters");
    if (name == nullptr || !name->is_text() || *name->text() != "grid" || space == nullptr) return;
    auto const below = path / "hyperparameters";
    for (auto const& entry : space->entries()) require_counts_in(entry.value, below / entry.key, checker);
}

std::optional<std::int64_t> parse_memory_size(std::string_view written) {
    constexpr std::string_view units = "bkmgtp";
    auto const digits = written.find_first_not_of("0123456789.");
    auto const number_text = written.substr(0, digits);
    auto unit = to_lower(digits == std::string_view::npos ? std::string_view() : written.substr(digits));
    if (unit.starts_with(' ')) unit.erase(0, 1);
    auto const point = number_text.find('.');
    bool const is_number =
        !number_text.empty() && number_text.back() != '.' && point == number_text.rfind('.');
    if (!is_number) return std::nullopt;
    auto const power = unit.empty() ? 0 : units.find(unit[0]);
    auto const rest = unit.empty() ? std::string_view() : std::string_view(unit).substr(1);
    bool const is_unit = rest.empty() || (power > 0 && (rest == "b" || rest == "ib"));
    if (power == std::string_view::npos || !is_unit) return std::nullopt;
    double value = 0;
    std::from_chars(number_text.data(), number_text.data() + number_text.size(), value);
    auto const bytes = std::ldexp(value, static_cast<int>(10 * power));
    if (bytes >= 0x1p63) return std::nullopt;
    return static_cast<std::int64_t>(bytes);
}

std::string clean_path(std::string_view path) {
    bool const is_absolute = path.starts_with('/');
    std::vector<std::string> kept;
    for (auto const part : split(path, '/')) {
        if (part.empty() || part == ".") continue;
        bool const can_go_up = !kept.empty() && kept.back() != "..";
        if (part == ".." && can_go_up) {
            kept.pop_back();
        } else if (part != ".." || !is_absolute) {
            kept.emplace_back(part);
        }
    }
    return (is_absolute ? "/" : "") + join(kept, "/");
}

}  // namespace det::config::schema
