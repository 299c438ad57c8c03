#include "template/from_file.hpp"

namespace det::cli {

std::unique_ptr<Command> make_template_set() {
    return std::make_unique<TemplateFromFile>(&TemplateStore::write, "Set");
}

}  // namespace det::cli
