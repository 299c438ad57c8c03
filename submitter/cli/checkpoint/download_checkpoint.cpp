#include "checkpoint/download_checkpoint.hpp"

#include <det/experiment/find_checkpoint.hpp>
#include <det/protocol/json.hpp>

#include <ostream>

namespace det::cli {

Status download_checkpoint(checkpoint::Store const& store, std::string const& uuid,
                           std::filesystem::path const& target, Session& session) {
    DET_TRY(experiment::copy_checkpoint(store, uuid, target));
    if (session.wants_json()) {
        session.answer(Json{{"uuid", uuid}, {"path", std::filesystem::absolute(target).string()}});
    } else {
        session.out << target.string() << '\n';
    }
    return Ok{};
}

}  // namespace det::cli
