#include <det/tracker/http/response_cache.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace det::tracker::http {
namespace {

using Clock = std::chrono::steady_clock;
using Responders = std::vector<Responder>;

/// The maximum number of bytes of all kept answers together.
constexpr std::size_t kept_bytes_max = std::size_t{32} << 20;

/// \return The key under which the answer to the request is kept: its path and query.
std::string key_of(Request const& request) {
    std::string key;
    for (auto const& segment : request.target.segments) key += "/" + percent_encode(segment);
    for (auto const& [name, value] : request.target.query)
        key += fmt::format("&{}={}", percent_encode(name), percent_encode(value));
    return key;
}

DeferredHandler deferred(std::variant<Handler, DeferredHandler> handler) {
    if (auto* simple = std::get_if<Handler>(&handler)) {
        return [answer = std::move(*simple)](Request const& request, Responder const& responder) {
            responder.respond(answer(request));
        };
    }
    return std::get<DeferredHandler>(std::move(handler));
}

}  // namespace

class ResponseCache::Table : public std::enable_shared_from_this<Table> {
public:
    Table(std::function<std::int64_t()> change_number, std::chrono::milliseconds age_max)
        : change_number_(std::move(change_number)), age_max_(age_max) {}

    void answer(Request const& request, Responder const& responder, DeferredHandler const& handler) {
        auto key = key_of(request);
        std::unique_lock lock(mutex_);
        forget_old();
        auto const now = Clock::now();
        auto const number = change_number_ ? change_number_() : 0;
        auto [found, is_new] = entries_.try_emplace(key, Entry{now, number});
        auto& entry = found->second;
        if (!is_new && !entry.response) {
            (entry.number == number ? entry.waiting : entry.late).push_back(responder);
            return;
        }
        if (!is_new && entry.number == number) {
            auto const response = entry.response;
            lock.unlock();
            return responder.respond(*response);
        }
        if (!is_new) drop(entry);
        entry = Entry{now, number};
        entry.waiting.push_back(responder);
        lock.unlock();
        make(key, request, handler);
    }

private:
    /// An answer that is kept or being made. `begun` and `number` are the time and the change number at which
    /// the handler was called.
    struct Entry {
        Clock::time_point begun;
        std::int64_t number = 0;
        std::shared_ptr<Response const> response = {};  // null while it is made
        Responders waiting = {};                        // clients that wait for the answer that is being made
        Responders late = {};  // clients that came after a change, which that answer may lack
    };

    /// Takes the answer of the route's own handler.
    class Sink final : public Responder::Sink {
    public:
        Sink(std::shared_ptr<Table> table, std::string key, Request request, DeferredHandler handler)
            : table_(std::move(table)),
              key_(std::move(key)),
              request_(std::move(request)),
              handler_(std::move(handler)) {}
        ~Sink() override {
            if (is_done_) return;
            if (was_unwanted_) {
                table_->resume(key_, request_, handler_);
            } else {
                respond(
                    error_response(Error{codes::internal, "no part of the server answered this request"}));
            }
        }
        void respond(Response response) override {
            if (!is_done_.exchange(true)) table_->finish(key_, std::move(response), request_, handler_);
        }
        void respond_at(Clock::time_point, Response response) override { respond(std::move(response)); }
        bool is_done() const override {
            if (is_done_) return true;
            was_unwanted_ = !table_->is_wanted(key_);
            return was_unwanted_;
        }

    private:
        std::shared_ptr<Table> table_;
        std::string key_;
        Request request_;
        DeferredHandler handler_;
        std::atomic<bool> is_done_ = false;
        mutable std::atomic<bool> was_unwanted_ = false;  // the handler may have given up
    };

    void make(std::string const& key, Request const& request, DeferredHandler const& handler) {
        Responder const responder(std::make_shared<Sink>(shared_from_this(), key, request, handler));
        try {
            handler(request, responder);
        } catch (std::exception const& problem) {
            responder.respond(error_response(Error{codes::internal, problem.what()}));
        }
    }

    void finish(std::string const& key, Response response, Request const& request,
                DeferredHandler const& handler) {
        Responders waiting;
        bool is_again = false;
        {
            std::lock_guard const lock(mutex_);
            auto& entry = entries_[key];
            waiting = std::exchange(entry.waiting, std::exchange(entry.late, {}));
            is_again = !entry.waiting.empty();
            if (is_again) {
                entry.begun = Clock::now();
                entry.number = change_number_ ? change_number_() : 0;
            } else {
                kept_bytes_ += response.body.size();
                entry.response = std::make_shared<Response const>(response);
                if (age_max_.count() == 0 || kept_bytes_ > kept_bytes_max) {
                    drop(entry);
                    entries_.erase(key);
                }
            }
        }
        for (auto const& responder : waiting) responder.respond(response);
        if (is_again) make(key, request, handler);
    }

    /// The handler gave up because no client waited: begins again if one does by now.
    void resume(std::string const& key, Request const& request, DeferredHandler const& handler) {
        {
            std::lock_guard const lock(mutex_);
            auto const found = entries_.find(key);
            if (found == entries_.end()) return;
            auto& entry = found->second;
            std::ranges::move(std::exchange(entry.late, {}), std::back_inserter(entry.waiting));
            std::erase_if(entry.waiting, [](auto const& responder) { return responder.is_done(); });
            if (entry.waiting.empty()) {
                entries_.erase(found);
                return;
            }
            entry.begun = Clock::now();
            entry.number = change_number_ ? change_number_() : 0;
        }
        make(key, request, handler);
    }

    /// Whether a client still waits for this answer.
    bool is_wanted(std::string const& key) {
        std::lock_guard const lock(mutex_);
        auto const found = entries_.find(key);
        if (found == entries_.end()) return false;
        auto const is_open = [](Responders const& all) {
            return std::ranges::any_of(all, [](auto const& responder) { return !responder.is_done(); });
        };
        return is_open(found->second.waiting) || is_open(found->second.late);
    }

    void forget_old() {
        auto const oldest = Clock::now() - age_max_;
        std::erase_if(entries_, [&](auto& item) {
            auto& entry = item.second;
            bool const is_old = entry.response && entry.begun < oldest;
            if (is_old) drop(entry);
            return is_old;
        });
    }

    void drop(Entry const& entry) {
        if (entry.response) kept_bytes_ -= entry.response->body.size();
    }

    std::function<std::int64_t()> const change_number_;
    std::chrono::milliseconds const age_max_;
    std::mutex mutex_;
    std::map<std::string, Entry> entries_;
    std::size_t kept_bytes_ = 0;
};

ResponseCache::ResponseCache(std::function<std::int64_t()> change_number, std::chrono::milliseconds age_max)
    : table_(std::make_shared<Table>(std::move(change_number), age_max)) {}
ResponseCache::~ResponseCache() = default;

Route ResponseCache::share(Route route) {
    route.handler = DeferredHandler([table = table_, handler = deferred(std::move(route.handler))](
                                        Request const& request, Responder const& responder) {
        table->answer(request, responder, handler);
    });
    return route;
}

}  // namespace det::tracker::http
