#include "rung_directory.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/search/rung.hpp>

namespace det::launch::supervisor {

Status RungDirectory::add(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) {
    auto const directory = experiment_.rung(bracket, rung);
    auto written = write_file(directory / entry, "");
    if (written || written.error().code != codes::no_such_file) return written;
    DET_TRY(make_directories(directory));  // the first trial at this rung
    return write_file(directory / entry, "");
}

Result<std::vector<std::string>> RungDirectory::list(std::uint32_t bracket, std::uint32_t rung) const {
    DET_TRY_ASSIGN(auto names, list_trusted_directory(experiment_.rung(bracket, rung)));
    std::erase_if(names, [&](std::string const& name) {
        auto const entry = search::parse_rung_entry_name(name);
        return entry && !has_trial(bracket, entry->trial);
    });
    return names;
}

bool RungDirectory::has_trial(std::uint32_t bracket, std::uint32_t trial) const {
    if (trial < trial_count_) return brackets_.bracket_of(trial) == bracket;
    return path_exists(experiment_.trial(trial).path());
}

Status RungDirectory::remove(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) {
    return remove_tree(experiment_.rung(bracket, rung) / entry);
}

}  // namespace det::launch::supervisor
