// A Bootstrap over PMIx, and the entry point of det_pmix.so.
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <pmix.h>

#include "module_table.hpp"

namespace det::transport::pmix {
namespace {

Error pmix_error(std::string const& what, pmix_status_t status) {
    auto const code = status == PMIX_ERR_TIMEOUT ? codes::timed_out : codes::transport;
    return Error{code, fmt::format("cannot {}: {}", what, PMIx_Error_string(status))};
}

/// The result of a non-blocking PMIx call. The caller and the callback share ownership, because the callback
/// may run after wait() has timed out.
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

/// Shared ownership of an Outcome, converted to and from the void* that PMIx passes to a callback.
using SharedOutcome = std::shared_ptr<Outcome>;
void* to_pointer(SharedOutcome const& outcome) { return std::make_unique<SharedOutcome>(outcome).release(); }
std::unique_ptr<SharedOutcome> from_pointer(void* pointer) {
    return std::unique_ptr<SharedOutcome>(static_cast<SharedOutcome*>(pointer));
}

void on_fence(pmix_status_t status, void* pointer) { (*from_pointer(pointer))->set(status); }

void on_value(pmix_status_t status, pmix_value_t* value, void* pointer) {
    auto const outcome = from_pointer(pointer);
    if (status != PMIX_SUCCESS || value == nullptr) return (*outcome)->set(status);
    if (value->type != PMIX_BYTE_OBJECT) return (*outcome)->set(PMIX_ERR_TYPE_MISMATCH);
    auto const& bytes = value->data.bo;
    (*outcome)->set(status, bytes.size == 0 ? std::string() : std::string(bytes.bytes, bytes.size));
}

/// The connection to PMIx: open() initialises PMIx, and the destructor finalises it.
class Client {
public:
    static Result<Client> open() {
        pmix_proc_t self{};
        auto const status = PMIx_Init(&self, nullptr, 0);
        if (status == PMIX_SUCCESS) return Client(self);
        auto error = pmix_error("initialise PMIx", status);
        error.hint = "start the ranks by 'srun --mpi=pmix' or mpirun";
        return error;
    }
    Client(Client&& other) noexcept : self_(other.self_), is_open_(std::exchange(other.is_open_, false)) {}
    Client& operator=(Client&&) = delete;
    ~Client() {
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
    explicit Client(pmix_proc_t const& self) : self_(self), is_open_(true) {}

    pmix_proc_t self_;
    bool is_open_;
};

class PmixBootstrap final : public Bootstrap {
public:
    PmixBootstrap(Client client, int size, BootstrapOptions options)
        : Bootstrap({static_cast<int>(client.self().rank)}, size),
          client_(std::move(client)),
          options_(options) {}

private:
    // PMIx treats an empty value as absent, so one byte precedes each value.
    Status do_put(std::string const& key, std::string const& value) override {
        auto bytes = '=' + value;
        pmix_value_t wrapped{};
        wrapped.type = PMIX_BYTE_OBJECT;
        wrapped.data.bo = {bytes.data(), bytes.size()};
        auto status = PMIx_Put(PMIX_GLOBAL, name_of(key).c_str(), &wrapped);
        if (status == PMIX_SUCCESS) status = PMIx_Commit();
        if (status != PMIX_SUCCESS) return pmix_error(fmt::format("put '{}' into PMIx", key), status);
        return Ok{};
    }

    Result<std::string> do_get(Rank from, std::string const& key) override {
        auto const proc = client_.peer(static_cast<pmix_rank_t>(from.value));
        auto const what = fmt::format("get '{}' of rank {} from PMIx", key, from.value);
        auto const outcome = std::make_shared<Outcome>();
        auto* const pointer = to_pointer(outcome);
        auto const status = PMIx_Get_nb(&proc, name_of(key).c_str(), nullptr, 0, on_value, pointer);
        if (status != PMIX_SUCCESS) {
            from_pointer(pointer);
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

    /// Runs a fence that also distributes the values of all ranks.
    Status collect() {
        auto const all = client_.peer(PMIX_RANK_WILDCARD);
        pmix_info_t collect_data{};
        bool const yes = true;
        PMIX_INFO_LOAD(&collect_data, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
        auto const outcome = std::make_shared<Outcome>();
        auto* const pointer = to_pointer(outcome);
        auto const status = PMIx_Fence_nb(&all, 1, &collect_data, 1, on_fence, pointer);
        if (status != PMIX_SUCCESS) {
            from_pointer(pointer);
            return pmix_error("wait for all ranks", status);
        }
        DET_TRY(outcome->wait(options_.timeout, "wait for all ranks"));
        return Ok{};
    }

    static std::string name_of(std::string const& key) { return "det." + key; }

    Client client_;
    BootstrapOptions options_;
    std::uint64_t gathers_ = 0;
};

Result<std::unique_ptr<Bootstrap>> make_bootstrap(BootstrapOptions options) {
    DET_TRY_ASSIGN(auto client, Client::open());
    DET_TRY_ASSIGN(int const size, client.job_size());
    return Result<std::unique_ptr<Bootstrap>>(
        std::make_unique<PmixBootstrap>(std::move(client), size, options));
}

constexpr Table table{{transport_abi}, make_bootstrap};

}  // namespace
}  // namespace det::transport::pmix

extern "C" __attribute__((visibility("default"))) det::transport::ModuleTable const* det_pmix_module() {
    return &det::transport::pmix::table;
}
