#include "template/from_file.hpp"

#include <det/experiment/template_text.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <ostream>

namespace det::cli {

std::vector<Option> TemplateFromFile::options() {
    return {{"name", &name_, "the template", Need::required},
            {"file", &file_, "its YAML file", Need::required}};
}

Outcome TemplateFromFile::run(Session& session) {
    DET_TRY_ASSIGN(auto const store, experiment::TemplateStore::open(session.environment));
    DET_TRY_ASSIGN(auto const read, experiment::read_template(file_));
    print(session.err, read.warnings, session.style);
    DET_TRY_ASSIGN(auto const stored, (store.*store_)(name_, read.text));
    session.answer(Json{{"name", stored.name}, {"path", stored.path.string()}},
                   fmt::format("{} template {}\n", done_, stored.name));
    return ExitCode::done;
}

}  // namespace det::cli
