#pragma once
#include "http.hpp"

namespace det::checkpoint::s3 {

/// The texts of all elements <name>, with entities replaced. Sufficient for S3's responses, in which these
/// elements have no attributes and no nested elements of the same name.
std::vector<std::string> texts_of(std::string_view xml, std::string_view name);
/// The text of the first element <name>, or "".
std::string text_of(std::string_view xml, std::string_view name);

/// The SHA-256 of each part of a file; the last part may be shorter.
Result<std::vector<std::string>> sum_parts(std::filesystem::path const& path, std::uint64_t part_size_bytes);

/// Sends the requests for one bucket. Keys are relative to the bucket. A refused request fails with
/// codes::transport and the server's message; a missing object with codes::no_such_file. Thread-safe.
class S3Client {
public:
    S3Client(Http http, Options options, Clock& clock);

    Status put(std::string const& key, std::string_view bytes) const;
    /// Uploads a file. A file larger than Options::part_size_bytes is uploaded in parts.
    /// \return the SHA-256 of each part, which S3's signatures need anyway
    Result<std::vector<std::string>> put_file(std::string const& key,
                                              std::filesystem::path const& path) const;
    std::uint64_t part_size_bytes() const { return options_.part_size_bytes; }
    Result<std::string> get(std::string const& key) const;
    Status get_file(std::string const& key, std::filesystem::path const& into) const;
    /// Removes an object. Succeeds if the object does not exist.
    Status remove(std::string const& key) const;
    Result<std::vector<std::string>> list_keys(std::string const& prefix) const;
    /// The folder names directly below `prefix`.
    Result<std::vector<std::string>> list_folders(std::string const& prefix) const;

private:
    struct Call {
        std::string method;
        std::string key;
        Query query = {};
        std::string_view body = {};
        std::string body_sha256 = {};  // empty: not computed yet
        std::optional<std::filesystem::path> into = {};
    };
    Result<HttpResponse> send(Call const& call) const;
    Result<HttpResponse> send_once(Call const& call) const;
    Status put_in_parts(std::string const& key, std::string_view bytes, std::vector<std::string>& sums) const;
    Result<std::string> put_parts(std::string const& key, std::string const& upload, std::string_view bytes,
                                  std::vector<std::string>& sums) const;
    /// Calls `take` with the XML of each result page.
    Status list(Query query, std::function<void(std::string const& page)> const& take) const;

    Http http_;
    Options options_;
    Clock& clock_;
    std::string host_;
};

}  // namespace det::checkpoint::s3
