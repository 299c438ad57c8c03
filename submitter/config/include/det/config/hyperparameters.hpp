#pragma once
#include <det/yaml/node.hpp>

namespace det::config {

struct ConstHyperparameter {
    yaml::Node value;  // any value, also null or a list
};
struct IntHyperparameter {
    std::int64_t minval = 0;
    std::int64_t maxval = 0;
    std::optional<std::int64_t> count;
};
struct DoubleHyperparameter {
    double minval = 0;
    double maxval = 0;
    std::optional<std::int64_t> count;
};
/// base to the power of an exponent between minval and maxval.
struct LogHyperparameter {
    double minval = 0;
    double maxval = 0;
    double base = 10;
    std::optional<std::int64_t> count;
};
struct CategoricalHyperparameter {
    std::vector<yaml::Node> vals;
};

struct NamedHyperparameter;
/// In the order of the file.
using Hyperparameters = std::vector<NamedHyperparameter>;

struct Hyperparameter {
    std::variant<ConstHyperparameter, IntHyperparameter, DoubleHyperparameter, LogHyperparameter,
                 CategoricalHyperparameter, Hyperparameters>
        value;
};

struct NamedHyperparameter {
    std::string name;
    Hyperparameter hyperparameter;
};

}  // namespace det::config
