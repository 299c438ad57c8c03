#include <det/foundation/files.hpp>
#include <det/launch/supervisor/rung_directory.hpp>

namespace det::launch::supervisor {

Status RungDirectory::add(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) {
    auto const directory = experiment_.rung(bracket, rung);
    auto written = write_file(directory / entry, "");
    if (written || written.error().code != codes::no_such_file) return written;
    DET_TRY(make_directories(directory));  // the first trial at this rung
    return write_file(directory / entry, "");
}

Result<std::vector<std::string>> RungDirectory::list(std::uint32_t bracket, std::uint32_t rung) const {
    return list_directory(experiment_.rung(bracket, rung));
}

Status RungDirectory::remove(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) {
    return remove_tree(experiment_.rung(bracket, rung) / entry);
}

}  // namespace det::launch::supervisor
