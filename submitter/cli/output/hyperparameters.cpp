#include "output/hyperparameters.hpp"

#include <det/protocol/json.hpp>
#include <det/search/search.hpp>

namespace det::cli {
namespace {

void add(std::string& text, std::string const& path, Json const& value) {
    if (value.is_object()) {
        for (auto const& [name, inner] : value.items())
            add(text, path.empty() ? name : path + "." + name, inner);
        return;
    }
    if (!text.empty()) text += ' ';
    text += path + '=' + to_line(value);
}

}  // namespace

Json hyperparameters_of(ExperimentSpec const& spec, std::uint32_t trial) {
    auto const draw = search::draw_trial(spec, trial);
    return draw ? *draw->hyperparameters : Json::object();
}

std::string describe_hyperparameters(Json const& hyperparameters) {
    std::string text;
    add(text, "", hyperparameters);
    return text;
}

}  // namespace det::cli
