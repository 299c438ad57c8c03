#pragma once
#include <det/foundation/files.hpp>

#include <string>
#include <sys/types.h>

#include "temporary_directory.hpp"

namespace det {

/// Runs s3rver, an S3 server, on a free port with the bucket "det". Access key and secret key are both
/// "S3RVER". It checks the access key but not the signature (version 4). If s3rver is not installed, the
/// process prints a reason and ends with exit code 77 (skipped).
class S3Server {
public:
    explicit S3Server(std::string const& address = "127.0.0.1");
    ~S3Server();
    S3Server(S3Server const&) = delete;
    S3Server& operator=(S3Server const&) = delete;
    std::string const& endpoint() const { return endpoint_; }

private:
    std::string read_address() const;

    TemporaryDirectory data_;
    UniqueFd output_;
    pid_t pid_ = -1;
    std::string endpoint_;
};

}  // namespace det
