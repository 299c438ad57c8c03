#include "rows.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

namespace det::gpu {

void run_row(std::string const& name, std::function<std::optional<Figure>()> const& check) {
    nlohmann::json row{{"row", name}, {"result", "ok"}};
    try {
        if (auto const figure = check()) {
            row["figure"] = figure->value;
            row["unit"] = figure->unit;
            if (figure->mark) row["mark"] = *figure->mark;
            if (!figure->note.empty()) row["note"] = figure->note;
        }
    } catch (Failure const& failure) {
        row["result"] = "failed";
        row["reason"] = failure.what();
    }
    std::cout << row.dump() << std::endl;  // flushed: a later row may end the process
}

void require(bool condition, std::string const& text) {
    if (!condition) throw Failure(text);
}

}  // namespace det::gpu
