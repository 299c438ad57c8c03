#pragma once
#include "http.hpp"

namespace det::checkpoint::s3 {

/// What a store asks of a bucket. Keys are relative to it. An answer that says no is codes::transport with
/// the server's words; what is absent is codes::no_such_file. Thread-safe.
class S3Client {
public:
    S3Client(Http http, Options options, Clock& clock);

    Status put(std::string const& key, std::string_view bytes) const;
    /// In parts where it is large.
    Status put_file(std::string const& key, std::filesystem::path const& path) const;
    Result<std::string> get(std::string const& key) const;
    Status get_file(std::string const& key, std::filesystem::path const& into) const;
    /// Absent is fine.
    Status remove(std::string const& key) const;
    Result<std::vector<std::string>> list_keys(std::string const& prefix) const;
    /// What comes behind `prefix` up to the next slash.
    Result<std::vector<std::string>> list_folders(std::string const& prefix) const;

private:
    struct Call {
        std::string method;
        std::string key;
        Query query = {};
        std::string_view body = {};
        std::optional<std::filesystem::path> into = {};
    };
    Result<HttpResponse> send(Call const& call) const;
    Result<HttpResponse> send_once(Call const& call) const;
    Status put_in_parts(std::string const& key, std::string_view bytes) const;
    Result<std::string> put_parts(std::string const& key, std::string const& upload,
                                  std::string_view bytes) const;
    /// `take` gets the text of each page.
    Status list(Query query, std::function<void(std::string const& page)> const& take) const;

    Http http_;
    Options options_;
    Clock& clock_;
    std::string host_;
};

}  // namespace det::checkpoint::s3
