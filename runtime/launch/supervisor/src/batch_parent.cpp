#include "batch_parent.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <unistd.h>

namespace det::launch::supervisor {

pid_t find_batch_parent(pid_t batch_process) {
    auto const parent = ::getppid();
    if (batch_process == 0 || parent != batch_process) return parent;
    constexpr std::string_view mark = "PPid:";
    auto const text = read_file(fmt::format("/proc/{}/status", batch_process)).value_or("");
    for (auto const line : split_lines(text)) {
        if (line.starts_with(mark)) return parse_integer<pid_t>(trim(line.substr(mark.size()))).value_or(-1);
    }
    return -1;
}

}  // namespace det::launch::supervisor
