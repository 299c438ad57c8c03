#include "tracker/api/local_api.hpp"

#include <atomic>
#include <future>
#include <memory>

namespace det::tracker::api {
namespace {

/// Keeps the first response. If no handler responds, get() of the future throws.
class ResponseSink final : public http::Responder::Sink {
public:
    std::future<http::Response> response() { return first_.get_future(); }
    void respond(http::Response response) override {
        if (!is_done_.exchange(true)) first_.set_value(std::move(response));
    }
    void respond_at(std::chrono::steady_clock::time_point, http::Response response) override {
        respond(std::move(response));
    }
    bool is_done() const override { return is_done_; }

private:
    std::promise<http::Response> first_;
    std::atomic<bool> is_done_ = false;
};

http::Response ask(http::Route const& route, http::Request request) {
    if (auto const* handler = std::get_if<http::Handler>(&route.handler)) return (*handler)(request);
    auto sink = std::make_shared<ResponseSink>();
    auto response = sink->response();
    std::get<http::DeferredHandler>(route.handler)(std::move(request), http::Responder(std::move(sink)));
    return response.get();
}

}  // namespace

LocalApi::LocalApi(Sources sources) : api_(std::move(sources)), routes_(api_.routes()) {}

Result<std::string> LocalApi::get(std::string const& target) {
    DET_TRY_ASSIGN(auto parsed, http::parse_target(target));
    auto match = routes_.find(http::Method::get, parsed.segments);
    if (match.route == nullptr) return Error{codes::no_such_route, "there is no route for " + target};
    auto const response =
        ask(*match.route, {http::Method::get, std::move(parsed), std::move(match.path_values)});
    if (response.status == 200) return response.body;
    return http::parse_error_response(response);
}

}  // namespace det::tracker::api
