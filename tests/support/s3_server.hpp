#pragma once
#include <det/foundation/files.hpp>

#include <string>
#include <sys/types.h>

#include "temporary_directory.hpp"

namespace det {

/// An s3rver for the tests of a program, on a port that it chooses itself, with the bucket "det" and the keys
/// S3RVER and S3RVER. It knows who asks but calculates no signatures of version 4. Where there is no such
/// program the test ends with exit code 77, and says why.
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
