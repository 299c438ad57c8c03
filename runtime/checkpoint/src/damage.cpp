#include "damage.hpp"

#include <fmt/format.h>

namespace det::checkpoint {

Error damaged(std::string const& uuid, std::string const& why) {
    return Error{codes::checkpoint_damaged, fmt::format("checkpoint {} is damaged: {}", uuid, why),
                 "go back to an older checkpoint of the trial"};
}

}  // namespace det::checkpoint
