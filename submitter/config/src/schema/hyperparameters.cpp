#include "../check.hpp"
#include "assign.hpp"
#include "shared_rules.hpp"
#include "tables.hpp"

namespace det::config::schema {
namespace {

constinit Type const any_list = list_of(anything);
constinit Type const positive{.shape = Shape::number, .exclusive_minimum = 0};

constexpr Key hyperparameter_common_keys[] = {
    required({"type", text, "", "const, int, double, log or categorical"}),
};
constexpr Key const_keys[] = {
    required({"val", anything, "", "the value", into<&ConstHyperparameter::value>}),
};
constexpr Key int_keys[] = {
    required({"minval", integer, "", "the smallest value", into<&IntHyperparameter::minval>}),
    required({"maxval", integer, "", "the largest value", into<&IntHyperparameter::maxval>}),
    {"count", positive_integer, "", "number of points of a grid search", into<&IntHyperparameter::count>},
};
constexpr Key double_keys[] = {
    required({"minval", number, "", "the smallest value", into<&DoubleHyperparameter::minval>}),
    required({"maxval", number, "", "the largest value", into<&DoubleHyperparameter::maxval>}),
    {"count", positive_integer, "", "number of points of a grid search", into<&DoubleHyperparameter::count>},
};
constexpr Key log_keys[] = {
    required({"minval", number, "", "the smallest exponent", into<&LogHyperparameter::minval>}),
    required({"maxval", number, "", "the largest exponent", into<&LogHyperparameter::maxval>}),
    required({"base", positive, "", "the base", into<&LogHyperparameter::base>}),
    {"count", positive_integer, "", "number of points of a grid search", into<&LogHyperparameter::count>},
};
constexpr Key categorical_keys[] = {
    required({"vals", any_list, "", "the values to choose from", into<&CategoricalHyperparameter::vals>}),
};

template <class Alternative>
constexpr auto into_hyperparameter = into_variant<&Hyperparameter::value, Alternative>;

constexpr Member hyperparameter_members[] = {
    {"const", const_keys, into_hyperparameter<ConstHyperparameter>},
    {"int", int_keys, into_hyperparameter<IntHyperparameter>},
    {"double", double_keys, into_hyperparameter<DoubleHyperparameter>},
    {"log", log_keys, into_hyperparameter<LogHyperparameter>},
    {"categorical", categorical_keys, into_hyperparameter<CategoricalHyperparameter>},
};

void require_range(yaml::Node const& value, Path const& path, Checker& checker) {
    require_order(value, "minval", "maxval", Bound::strict, path, checker);
}

constinit Type const hyperparameter{.shape = Shape::hyperparameter};

Hyperparameter read_hyperparameter(yaml::Node const& value) {
    Hyperparameter result;
    switch (hyperparameter_form(value)) {
        case HyperparameterForm::constant:
            result.value = ConstHyperparameter{value};
            break;
        case HyperparameterForm::searched:
            assign_object(&result, value, searched_hyperparameter);
            break;
        case HyperparameterForm::nested:
            assign(result.value.emplace<Hyperparameters>(), value, hyperparameters);
            break;
    }
    return result;
}

}  // namespace

constinit Type const searched_hyperparameter{
    .shape = Shape::tagged_union,
    .hint = "a group of hyperparameters can't have one called 'type': rename it",
    .determined_message =
        R"(if a hyperparameter object's ["type"] is set, it must be one of "int", "double", )"
        R"("log", const", or "categorical")",
    .keys = hyperparameter_common_keys,
    .members = hyperparameter_members,
    .tag = "type",
    .rule = require_range};

constinit Type const grid_hyperparameter{.rule = require_grid_count};
constinit Type const hyperparameters{.shape = Shape::map, .item = &hyperparameter};

HyperparameterForm hyperparameter_form(yaml::Node const& value) {
    if (!value.is_map()) return HyperparameterForm::constant;
    auto const* type = value.find("type");
    return type != nullptr && !type->is_null() ? HyperparameterForm::searched : HyperparameterForm::nested;
}

void assign(Hyperparameters& field, yaml::Node const& value, Type const&) {
    for (auto const& entry : value.entries()) field.push_back({entry.key, read_hyperparameter(entry.value)});
}

}  // namespace det::config::schema
