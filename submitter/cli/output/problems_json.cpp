#include "output/problems_json.hpp"

namespace det::cli {

Json problems_json(Diagnostics const& found) {
    auto problems = Json::array();
    for (auto const& [severity, error] : found.sorted()) {
        Json problem{{"severity", severity == Severity::error ? "error" : "warning"},
                     {"code", error.code.name},
                     {"message", error.message},
                     {"hint", error.hint}};
        if (error.where) {
            problem["file"] = error.where->file;
            problem["line"] = error.where->line;
            problem["column"] = error.where->column;
        }
        problems.push_back(std::move(problem));
    }
    return problems;
}

}  // namespace det::cli
