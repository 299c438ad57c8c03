#include <det/foundation/text.hpp>
#include <det/launch/launchers/messages.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace det::launch::launchers {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view worker_word = "worker ", remote_word = "remote ", exit_word = "exit ";

/// A socket address has at most 107 characters and TMPDIR may be longer: the directory is named by a
/// descriptor.
struct ShortAddress {
    UniqueFd folder;
    sockaddr_un address{};

    explicit ShortAddress(fs::path const& path)
        : folder(::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
        address.sun_family = AF_UNIX;
        auto const text = fmt::format("/proc/self/fd/{}/{}", folder.get(), path.filename().string());
        std::memcpy(address.sun_path, text.data(), std::min(text.size(), sizeof address.sun_path - 1));
    }
    sockaddr const* generic() const { return reinterpret_cast<sockaddr const*>(&address); }
};

UniqueFd packet_socket() { return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

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
    ShortAddress const at(path);
    auto socket = packet_socket();
    bool const listens = at.folder && socket && ::bind(socket.get(), at.generic(), sizeof at.address) == 0 &&
                         ::listen(socket.get(), SOMAXCONN) == 0;
    if (!listens) return os_error(fmt::format("listen at '{}'", path.string()), errno);
    return socket;
}

std::optional<UniqueFd> connect_to(fs::path const& path) {
    ShortAddress const at(path);
    auto socket = packet_socket();
    if (!at.folder || !socket || ::connect(socket.get(), at.generic(), sizeof at.address) != 0) {
        return std::nullopt;
    }
    return socket;
}

void send_message(UniqueFd const& socket, Message const& message) {
    auto const text = render_message(message);
    // An error means that the monitor has ended, which needs no message.
    (void)::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace det::launch::launchers
