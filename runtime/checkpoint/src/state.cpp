#include <det/checkpoint/state.hpp>

#include <fmt/format.h>
#include <set>

namespace det::checkpoint {

Status check_state(State const& state) {
    std::set<std::string_view> names;
    for (auto const& tensor : state) {
        DET_TRY(check(tensor));
        if (!names.insert(tensor.name).second)
            return Error{codes::misuse, fmt::format("two tensors are named '{}'", tensor.name)};
    }
    return Ok{};
}

}  // namespace det::checkpoint
