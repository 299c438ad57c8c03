#pragma once
#include <filesystem>
#include <memory>

#include "frames.hpp"

namespace det::transport {

// The file that leads the ranks of a TcpBootstrap to their chief (protocol/rendezvous_file.hpp).

Result<RendezvousFile> load_rendezvous_file(std::filesystem::path const& path);

/// The address of this process, the chief, in a rendezvous file. The destructor removes the address or the
/// file.
class PublishedAddress {
public:
    /// Adds the address to a file that has the secret already.
    static Result<std::unique_ptr<PublishedAddress>> add(std::filesystem::path path,
                                                         RendezvousFile rendezvous);
    /// Creates the file, or replaces one that a killed program has left. The destructor removes the file,
    /// unless another chief has replaced it. Blocks up to 2 s if the chief of an existing file does not
    /// answer.
    /// \param rendezvous with the address and the number of ranks
    /// \return codes::name_taken if the chief of an existing file is alive
    static Result<std::unique_ptr<PublishedAddress>> create(std::filesystem::path path,
                                                            RendezvousFile rendezvous);
    ~PublishedAddress();
    PublishedAddress(PublishedAddress const&) = delete;
    PublishedAddress& operator=(PublishedAddress const&) = delete;

private:
    PublishedAddress(std::filesystem::path path, std::string content, std::optional<std::string> without)
        : path_(std::move(path)), content_(std::move(content)), without_(std::move(without)) {}

    std::filesystem::path path_;
    std::string content_;
    std::optional<std::string> without_;  // the content without the address; nullopt: remove the file
};

/// Connects to the chief at the address in the file. Retries until the deadline, because the file may have no
/// address yet, or the address of an earlier chief.
/// \return at once an error of reading the file, codes::permission or codes::name_taken; the last error at
///     the deadline
Result<FrameClient> connect_to_chief(std::filesystem::path const& path, SessionKey const& key, Rank rank,
                                     TimePoint deadline);

/// Connects to a chief that makes the file with a new secret, and may replace the file. Retries until the
/// deadline, also while the file does not exist or cannot be read. After a rejection, retries for up to
/// `rejection_limit` while the file stays the same.
/// \return the first codes::name_taken; codes::permission after `rejection_limit`; codes::timed_out at the
///     deadline
Result<FrameClient> connect_to_chief_of_new_file(std::filesystem::path const& path, Rank rank, int size,
                                                 TimePoint deadline,
                                                 std::chrono::milliseconds rejection_limit);

}  // namespace det::transport
