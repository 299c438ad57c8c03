// The commands that list models, and the versions of a model.
#include <det/experiment/models.hpp>
#include <det/model_registry/model_changes.hpp>

#include <algorithm>
#include <ostream>

#include "command.hpp"
#include "model/model_view.hpp"

namespace det::cli {
namespace {

using model_registry::Model;

struct ModelOrder {
    std::string_view name;
    bool (*is_before)(Model const& a, Model const& b);
};
constexpr ModelOrder model_orders[] = {
    {"name", [](Model const& a, Model const& b) { return a.attributes.name < b.attributes.name; }},
    {"description",
     [](Model const& a, Model const& b) { return a.attributes.description < b.attributes.description; }},
    {"creation_time", [](Model const& a, Model const& b) { return a.id < b.id; }},
    {"last_updated_time",
     [](Model const& a, Model const& b) { return a.updated.microseconds < b.updated.microseconds; }},
    {"num_versions", [](Model const& a, Model const& b) { return a.versions.size() < b.versions.size(); }},
};

std::vector<std::string> order_names() {
    std::vector<std::string> names;
    for (auto const& order : model_orders) names.emplace_back(order.name);
    return names;
}

class ModelList final : public Command {
public:
    std::vector<Option> options() override {
        return {{"--sort-by", &sort_by_, "the field by which they are sorted", Need::optional, order_names()},
                {"--order-by", &order_by_, "the direction", Need::optional, {"asc", "desc"}},
                {"--csv", &csv_, "print comma-separated values"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const registry, experiment::load_models(session));
        auto const models = sort(registry.models);
        if (session.wants_json()) {
            auto answer = Json::array();
            for (auto const& model : models) answer.push_back(model_json(model));
            session.answer(answer);
        } else {
            auto const table = models_table(models, answer_style_of(session, csv_).time);
            if (csv_)
                session.out << table.render_csv();
            else
                print_table(session, table);
        }
        return ExitCode::done;
    }

private:
    std::vector<Model> sort(std::vector<Model> models) const {
        auto const order = std::ranges::find(model_orders, sort_by_, &ModelOrder::name);
        std::ranges::stable_sort(models, [&](Model const& a, Model const& b) {
            return order_by_ == "desc" ? order->is_before(b, a) : order->is_before(a, b);
        });
        return models;
    }

    std::string sort_by_ = "last_updated_time", order_by_ = "asc";
    bool csv_ = false;
};

class ModelListVersions final : public Command {
public:
    std::vector<Option> options() override {
        return {{"model", &model_, "its name or id", Need::required},
                {"--csv", &csv_, "print comma-separated values"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const registry, experiment::load_models(session));
        DET_TRY_ASSIGN(auto const model, model_registry::require_model(registry, model_));
        if (session.wants_json()) {
            auto answer = Json::array();
            for (auto const& version : model.versions) answer.push_back(version_json(model, version));
            session.answer(answer);
        } else {
            auto const table = versions_table(model.versions, answer_style_of(session, csv_).time);
            if (csv_)
                session.out << table.render_csv();
            else
                print_table(session, table);
        }
        return ExitCode::done;
    }

private:
    std::string model_;
    bool csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_model_list() { return std::make_unique<ModelList>(); }
std::unique_ptr<Command> make_model_list_versions() { return std::make_unique<ModelListVersions>(); }

}  // namespace det::cli
