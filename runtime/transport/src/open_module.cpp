#include "open_module.hpp"

#include <det/foundation/shared_module.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace det::transport {
namespace {

using Entry = ModuleTable const* (*)();

/// Returns the table of a module file, or the reason why the file cannot be used.
Result<ModuleTable const*, std::string> open_file(std::filesystem::path const& file,
                                                  ModuleSource const& source) {
    DET_TRY_ASSIGN(auto* const function, det::open_module(file, source.entry, SymbolScope::all));
    auto const* const table = reinterpret_cast<Entry>(function)();
    if (std::string_view(table->abi) == transport_abi) return table;
    return fmt::format("{}: from another build of det-submit", file.string());
}

/// Returns the libraries that are loaded now and were not loaded before.
std::vector<std::string> added(std::vector<std::string> const& before, std::vector<std::string> const& now) {
    std::vector<std::string> names;
    std::ranges::set_difference(now, before, std::back_inserter(names));
    return names;
}

}  // namespace

Result<ModuleTable const*> open_module(ModuleSource const& source) {
    auto const before = loaded_libraries(source.library_prefix);
    Error error{codes::not_supported,
                fmt::format("{} cannot be used: {} does not open", source.what, source.file), source.hint};
    for (auto const& file : module_candidates(std::string(source.file))) {
        auto const table = open_file(file, source);
        auto const brought = added(before, loaded_libraries(source.library_prefix));
        if (table && (before.empty() || brought.empty())) return *table;
        error.notes.push_back(table ? fmt::format("{}: built for {}, and this process has loaded {}",
                                                  file.string(), join(brought, ", "), join(before, ", "))
                                    : table.error());
    }
    if (!before.empty())
        error.notes.push_back(fmt::format("this process has loaded {} already", join(before, ", ")));
    return error;
}

}  // namespace det::transport
