#include "step_support.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/slurm/srun.hpp>
#include <det/slurm/step_process.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>

namespace det::launch::supervisor {

void skip_step_numbers(SupervisorContext const& context) {
    constexpr int steps = 16;  // more than the old run and its launcher have had
    slurm::StepRequest request;
    request.command = {"true"};
    auto const argv = slurm::render_srun(request);
    auto environment = context.environment;
    environment.unset(variables::spank);
    std::vector<slurm::StepProcess> started;
    for (int i = 0; i < steps; ++i) {
        auto step = slurm::StepProcess::start(argv, environment);
        if (step) started.push_back(*std::move(step));
    }
    for (auto& step : started) step.wait();
}

std::uint16_t find_free_port() {
    UniqueFd const socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (!socket || ::bind(socket.get(), generic, size) != 0 ||
        ::getsockname(socket.get(), generic, &size) != 0) {
        return 0;
    }
    return ntohs(address.sin_port);
}

std::uint64_t output_size_bytes(std::filesystem::path const& output) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(output, error)) return 0;
    auto const size = std::filesystem::file_size(output, error);
    return error ? 0 : size;
}

std::string find_srun_error(std::filesystem::path const& output, std::uint64_t begin_bytes) {
    constexpr std::string_view mark = "srun: error: ";
    constexpr std::uint64_t limit_bytes = std::uint64_t{64} << 10;
    auto const size = output_size_bytes(output);
    if (size <= begin_bytes) return "";
    std::string text(std::min(size - begin_bytes, limit_bytes), '\0');
    std::ifstream file(output, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(begin_bytes));
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    for (auto const line : split_lines(text)) {
        if (line.starts_with(mark)) return std::string(trim(line.substr(mark.size())));
    }
    return "";
}

}  // namespace det::launch::supervisor
