#pragma once
#include <det/tracker/http/message.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace det::tracker::http {

/// Who may use a route.
enum class AuthClass {
    anyone,  // over TCP without token, unless another web site made a browser send it other than by a link;
             // over the unix socket the owner
    owner,   // the user who runs the server: over the unix socket, or over TCP with the token
    acting_owner,  // the owner with the token, also over the unix socket, and a body of type
                   // application/json: a port that ssh forwards to the socket, or a form of another web site,
                   // is not enough
};

/// Sends the response of a deferred request, from any thread. If all copies are destroyed before respond() or
/// respond_at() was called, the client gets an error 500.
class Responder {
public:
    class Sink {
    public:
        virtual ~Sink() = default;
        /// Takes the first response and drops all later ones.
        virtual void respond(Response response) = 0;
        virtual void respond_at(std::chrono::steady_clock::time_point deadline, Response response) = 0;
        virtual bool is_done() const = 0;
    };

    explicit Responder(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}
    void respond(Response response) const { sink_->respond(std::move(response)); }
    /// Sends this response at the deadline, but at most Limits::deferred_time after this call, unless the
    /// request is answered before. At most one call.
    void respond_at(std::chrono::steady_clock::time_point deadline, Response response) const {
        sink_->respond_at(deadline, std::move(response));
    }
    /// Whether the request was answered or its client has gone.
    bool is_done() const { return sink_->is_done(); }

private:
    std::shared_ptr<Sink> sink_;
};

/// Handlers run in worker threads of the server, several at a time.
using Handler = std::function<Response(Request const&)>;
/// Must return soon, because it runs in a worker thread too; it may respond later.
using DeferredHandler = std::function<void(Request, Responder)>;

struct Route {
    Method method = Method::get;
    std::string pattern;  // "/v1/experiments/{experiment}": a segment in braces matches any text
    AuthClass auth = AuthClass::owner;
    std::variant<Handler, DeferredHandler> handler;
};

/// The routes of a server. A GET route answers HEAD requests too.
class RouteTable {
public:
    /// Asserts that no two routes of a method have the same pattern, apart from the names in braces.
    explicit RouteTable(std::vector<Route> routes);

    struct Match {
        Route const* route = nullptr;  // null if no pattern matches, or none for this method
        std::map<std::string, std::string, std::less<>> path_values = {};
        std::vector<Method> allowed = {};  // the methods of all routes whose pattern matches
    };
    /// Finds the route of a request. If several patterns match, the one that has a fixed segment at the first
    /// place where they differ is taken.
    Match find(Method method, std::vector<std::string> const& segments) const;
    std::vector<Route> const& routes() const { return routes_; }

private:
    std::vector<Route> routes_;
    std::vector<std::vector<std::string>> patterns_;  // the segments of the patterns
};

}  // namespace det::tracker::http
