#include "template/from_file.hpp"

namespace det::cli {

std::unique_ptr<Command> make_template_create() {
    return std::make_unique<TemplateFromFile>(&TemplateStore::create, "Created");
}

}  // namespace det::cli
