#include <det/transport/pmix_bootstrap.hpp>

#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <pmix.h>

namespace det::transport {
namespace {

Error pmix_error(std::string const& what, pmix_status_t status) {
    auto const code = status == PMIX_ERR_TIMEOUT ? codes::timed_out : codes::transport;
    return Error{code, fmt::format("cannot {}: {}", what, PMIx_Error_string(status))};
}

/// What a call of PMIx will come to. Shared with its callback, which may come after we have given up.
class Outcome {
public:
    void set(pmix_status_t status, std::string value = {}) {
        std::lock_guard const lock(mutex_);
        status_ = status;
        value_ = std::move(value);
        changed_.notify_all();
    }

    Result<std::string> wait(std::chrono::milliseconds timeout, std::string const& what) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, timeout, [this] { return status_.has_value(); })) {
            return pmix_error(what, PMIX_ERR_TIMEOUT);
        }
        if (*status_ != PMIX_SUCCESS) return pmix_error(what, *status_);
        return value_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<pmix_status_t> status_;
    std::string value_;
};

/// A share of the outcome, as the void* that PMIx hands to a callback.
using Share = std::shared_ptr<Outcome>;
void* hand_out(Share const& outcome) { return std::make_unique<Share>(outcome).release(); }
std::unique_ptr<Share> take_back(void* share) { return std::unique_ptr<Share>(static_cast<Share*>(share)); }

void on_fence(pmix_status_t status, void* share) { (*take_back(share))->set(status); }

void on_value(pmix_status_t status, pmix_value_t* value, void* share) {
    auto const outcome = take_back(share);
    if (status != PMIX_SUCCESS || value == nullptr) return (*outcome)->set(status);
    if (value->type != PMIX_BYTE_OBJECT) return (*outcome)->set(PMIX_ERR_TYPE_MISMATCH);
    auto const& bytes = value->data.bo;
    (*outcome)->set(status, bytes.size == 0 ? std::string() : std::string(bytes.bytes, bytes.size));
}

/// PMIx in this process, for as long as it lives.
class PmixSession {
public:
    static Result<PmixSession> open() {
        pmix_proc_t self{};
        auto const status = PMIx_Init(&self, nullptr, 0);
        if (status == PMIX_SUCCESS) return PmixSession(self);
        auto error = pmix_error("speak PMIx", status);
        error.hint = "start the ranks by 'srun --mpi=pmix' or mpirun";
        return error;
    }
    PmixSession(PmixSession&& other) noexcept
        : self_(other.self_), is_open_(std::exchange(other.is_open_, false)) {}
    PmixSession& operator=(PmixSession&&) = delete;
    ~PmixSession() {
        if (is_open_) PMIx_Finalize(nullptr, 0);
    }

    pmix_proc_t const& self() const { return self_; }
    pmix_proc_t peer(pmix_rank_t rank) const {
        auto proc = self_;
        proc.rank = rank;
        return proc;
    }

    Result<int> job_size() const {
        auto const job = peer(PMIX_RANK_WILDCARD);
        pmix_value_t* value = nullptr;
        auto const status = PMIx_Get(&job, PMIX_JOB_SIZE, nullptr, 0, &value);
        if (status != PMIX_SUCCESS) return pmix_error("ask PMIx for the number of ranks", status);
        auto const size = value->data.uint32;
        PMIX_VALUE_RELEASE(value);
        return static_cast<int>(size);
    }

private:
    explicit PmixSession(pmix_proc_t const& self) : self_(self), is_open_(true) {}

    pmix_proc_t self_;
    bool is_open_;
};

class PmixBootstrap final : public Bootstrap {
public:
    PmixBootstrap(PmixSession session, int size, BootstrapOptions options)
        : Bootstrap({static_cast<int>(session.self().rank)}, size),
          session_(std::move(session)),
          options_(options) {}

private:
    // A value of no bytes is none to PMIx: one byte goes ahead of each.
    Status do_put(std::string const& key, std::string const& value) override {
        auto bytes = '=' + value;
        pmix_value_t wrapped{};
        wrapped.type = PMIX_BYTE_OBJECT;
        wrapped.data.bo = {bytes.data(), bytes.size()};
        auto status = PMIx_Put(PMIX_GLOBAL, name_of(key).c_str(), &wrapped);
        if (status == PMIX_SUCCESS) status = PMIx_Commit();
        if (status != PMIX_SUCCESS) return pmix_error(fmt::format("tell PMIx '{}'", key), status);
        return Ok{};
    }

    Result<std::string> do_get(Rank from, std::string const& key) override {
        auto const proc = session_.peer(static_cast<pmix_rank_t>(from.value));
        auto const what = fmt::format("get '{}' of rank {} from PMIx", key, from.value);
        auto const outcome = std::make_shared<Outcome>();
        auto* const share = hand_out(outcome);
        auto const status = PMIx_Get_nb(&proc, name_of(key).c_str(), nullptr, 0, on_value, share);
        if (status != PMIX_SUCCESS) {
            take_back(share);
            return pmix_error(what, status);
        }
        DET_TRY_ASSIGN(auto const value, outcome->wait(options_.timeout, what));
        if (value.empty()) return pmix_error(what, PMIX_ERR_TYPE_MISMATCH);
        return value.substr(1);
    }

    Result<std::vector<std::string>> do_allgather(std::string const& value) override {
        auto const key = fmt::format("allgather-{}", gathers_++);
        DET_TRY(do_put(key, value));
        DET_TRY(collect());
        std::vector<std::string> values;
        for (int from = 0; from < size(); ++from) {
            DET_TRY_ASSIGN(auto theirs, do_get({from}, key));
            values.push_back(std::move(theirs));
        }
        return values;
    }

    /// A fence that takes along what all ranks have put.
    Status collect() {
        auto const all = session_.peer(PMIX_RANK_WILDCARD);
        pmix_info_t collect_data{};
        bool const yes = true;
        PMIX_INFO_LOAD(&collect_data, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
        auto const outcome = std::make_shared<Outcome>();
        auto* const share = hand_out(outcome);
        auto const status = PMIx_Fence_nb(&all, 1, &collect_data, 1, on_fence, share);
        if (status != PMIX_SUCCESS) {
            take_back(share);
            return pmix_error("wait for all ranks", status);
        }
        DET_TRY(outcome->wait(options_.timeout, "wait for all ranks"));
        return Ok{};
    }

    static std::string name_of(std::string const& key) { return "det." + key; }

    PmixSession session_;
    BootstrapOptions options_;
    std::uint64_t gathers_ = 0;
};

}  // namespace

Result<std::unique_ptr<Bootstrap>> open_pmix_bootstrap(BootstrapOptions options) {
    DET_TRY_ASSIGN(auto session, PmixSession::open());
    DET_TRY_ASSIGN(int const size, session.job_size());
    return Result<std::unique_ptr<Bootstrap>>(
        std::make_unique<PmixBootstrap>(std::move(session), size, options));
}

}  // namespace det::transport
