#include <det/experiment/template_store.hpp>

#include "template/from_file.hpp"

namespace det::cli {

std::unique_ptr<Command> make_template_create() {
    return std::make_unique<TemplateFromFile>(&experiment::TemplateStore::create, "Created");
}

}  // namespace det::cli
