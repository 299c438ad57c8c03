#include <det/search/draw.hpp>
#include <det/search/random.hpp>

#include <fmt/format.h>

namespace det::search {
namespace {

using Json = nlohmann::json;

/// Determined draws a request id for each trial before its seed.
constexpr int request_id_words = 4;
constexpr std::uint64_t trial_seeds = std::uint64_t{1} << 31;

bool has_type(Json const& value) {
    return value.is_object() && value.contains("type") && value["type"].is_string();
}

Result<Json> sample(Json const& configured, std::string const& path) {
    if (!configured.is_object()) return configured;
    if (has_type(configured)) {
        if (configured["type"] == "const") return configured.value("val", Json());
        return Error{
            codes::not_supported,
            fmt::format("hyperparameter '{}' is drawn from a range; only constants can be run yet", path),
            "give it a value"};
    }
    auto sampled = Json::object();
    for (auto const& [name, value] : configured.items()) {
        DET_TRY_ASSIGN(sampled[name], sample(value, path.empty() ? name : path + "." + name));
    }
    return sampled;
}

}  // namespace

Result<TrialDraw> draw_trial(Json const& hyperparameters, std::uint32_t experiment_seed,
                             std::uint32_t index) {
    Random random(experiment_seed);
    TrialDraw draw;
    for (std::uint32_t trial = 0; trial <= index; ++trial) {
        for (int word = 0; word < request_id_words; ++word) random.bits32();
        draw.seed = random.below(trial_seeds);
    }
    DET_TRY_ASSIGN(draw.hyperparameters, sample(hyperparameters, ""));
    return draw;
}

}  // namespace det::search
