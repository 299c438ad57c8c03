#pragma once
#include "tracker/api/api.hpp"

namespace det::tracker::api {

/// Answers requests of this process as a tracker would, without a server. One thread at a time may use it.
class LocalApi {
public:
    explicit LocalApi(Sources sources);

    /// Waits for the answer. The same results as http::Client::get(): the body of a response with status 200,
    /// or the error that the route reports.
    Result<std::string> get(std::string const& target);

private:
    Api api_;
    http::RouteTable routes_;
};

}  // namespace det::tracker::api
