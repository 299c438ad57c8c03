#include <det/experiment/template_store.hpp>

#include "template/from_file.hpp"

namespace det::cli {

std::unique_ptr<Command> make_template_set_value_config() {
    return std::make_unique<TemplateFromFile>(&experiment::TemplateStore::replace, "Set");
}

}  // namespace det::cli
