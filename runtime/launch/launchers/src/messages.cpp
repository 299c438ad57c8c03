#include <det/foundation/text.hpp>
#include <det/foundation/unix_socket.hpp>
#include <det/launch/launchers/messages.hpp>

#include <cerrno>
#include <fmt/format.h>
#include <sys/socket.h>

namespace det::launch::launchers {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view worker_word = "worker ", remote_word = "remote ", exit_word = "exit ";

}  // namespace

std::string render_message(Message const& message) {
    if (auto const* hello = std::get_if<WorkerHello>(&message)) {
        auto const word = hello->kind == WorkerHello::Kind::worker ? worker_word : remote_word;
        return std::string(word) + hello->name.substr(0, message_size_max - word.size());
    }
    return fmt::format("{}{}", exit_word, std::get<WorkerExit>(message).exit_code);
}

std::optional<Message> parse_message(std::string_view text) {
    if (text.starts_with(worker_word)) {
        return WorkerHello{WorkerHello::Kind::worker, std::string(text.substr(worker_word.size()))};
    }
    if (text.starts_with(remote_word)) {
        return WorkerHello{WorkerHello::Kind::remote, std::string(text.substr(remote_word.size()))};
    }
    if (!text.starts_with(exit_word)) return std::nullopt;
    auto const code = parse_integer<int>(text.substr(exit_word.size()));
    if (!code || *code < 0 || *code > 255) return std::nullopt;
    return WorkerExit{*code};
}

Result<UniqueFd> listen_at(fs::path const& path) {
    DET_TRY_ASSIGN(auto const address,
                   unix_socket::Address::make(path.parent_path(), path.filename().string()));
    DET_TRY_ASSIGN(auto socket, unix_socket::open_socket());
    if (::bind(socket.get(), address.get(), address.size()) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
        return os_error(fmt::format("listen at '{}'", path.string()), errno);
    return Result<UniqueFd>(std::move(socket));
}

std::optional<UniqueFd> connect_to(fs::path const& path) {
    auto const address = unix_socket::Address::make(path.parent_path(), path.filename().string());
    auto socket = unix_socket::open_socket();
    if (!address || !socket || ::connect(socket->get(), address->get(), address->size()) != 0)
        return std::nullopt;
    return *std::move(socket);
}

void send_message(UniqueFd const& socket, Message const& message) {
    auto const text = render_message(message);
    // An error means that the monitor has ended, which needs no message.
    (void)::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace det::launch::launchers
