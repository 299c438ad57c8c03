#include <det/experiment/template_store.hpp>

#include "template/from_file.hpp"

namespace det::cli {

std::unique_ptr<Command> make_template_set() {
    return std::make_unique<TemplateFromFile>(&experiment::TemplateStore::write, "Set");
}

}  // namespace det::cli
