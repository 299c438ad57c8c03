#include <det/foundation/text.hpp>
#include <det/slurm/cluster_config.hpp>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace det::slurm {

/// The text and its rows, sorted by name. Each creation of an experiment reads the 250 settings from the
/// cache and needs ten of them, so that none is copied.
class ClusterConfig::Table {
public:
    explicit Table(std::string output) : text_(std::move(output)) {
        for (auto const line : split_lines(text_)) {
            auto const equals = line.find('=');
            if (equals == std::string_view::npos) continue;
            auto const value = trim(line.substr(equals + 1));
            rows_.push_back({trim(line.substr(0, equals)), value == "(null)" ? "" : value});
        }
        std::ranges::stable_sort(rows_, {}, &Row::name);
    }
    Table(Table const&) = delete;  // the rows refer to the text
    Table& operator=(Table const&) = delete;

    struct Row {
        std::string_view name, value;
    };
    std::span<Row const> rows() const { return rows_; }
    /// The first row of this name; null if there is none.
    Row const* find(std::string_view name) const {
        auto const found = std::ranges::lower_bound(rows_, name, {}, &Row::name);
        return found == rows_.end() || found->name != name ? nullptr : &*found;
    }
    std::string const& text() const { return text_; }

private:
    std::string text_;
    std::vector<Row> rows_;
};

ClusterConfig::ClusterConfig(Settings const& settings) {
    std::string lines;
    for (auto const& [name, value] : settings) lines += name + '=' + value + '\n';
    table_ = std::make_shared<Table const>(std::move(lines));
}

std::string const& ClusterConfig::text() const { return table_->text(); }

std::optional<std::string> ClusterConfig::find(std::string_view name) const {
    auto const* const found = table_->find(name);
    return found == nullptr ? std::nullopt : std::optional(std::string(found->value));
}

std::optional<std::int64_t> ClusterConfig::find_number(std::string_view name) const {
    auto const value = find(name);
    if (!value) return std::nullopt;
    return parse_integer<std::int64_t>(value->substr(0, value->find(' ')));
}

std::optional<std::string> ClusterConfig::find_option_value(std::string_view name,
                                                            std::string_view option) const {
    auto const value = find(name);
    if (!value) return std::nullopt;
    for (auto const each : split(*value, ',')) {
        auto const equals = each.find('=');
        if (trim(each.substr(0, equals)) != option) continue;
        return std::string(equals == std::string_view::npos ? "" : trim(each.substr(equals + 1)));
    }
    return std::nullopt;
}

bool ClusterConfig::has_option(std::string_view name, std::string_view option) const {
    return find_option_value(name, option).has_value();
}

bool ClusterConfig::has_equal_priorities() const {
    if (!find("PriorityType").value_or("").ends_with("multifactor")) return false;
    return std::ranges::none_of(table_->rows(), [](auto const& row) {
        return row.name.starts_with("PriorityWeight") && !row.value.empty() && row.value != "0";
    });
}

ClusterConfig parse_cluster_config(std::string output) {
    return ClusterConfig(std::make_shared<ClusterConfig::Table const>(std::move(output)));
}

}  // namespace det::slurm
