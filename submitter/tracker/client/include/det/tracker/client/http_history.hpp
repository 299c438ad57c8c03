#pragma once
#include <det/tracker/history/history.hpp>
#include <det/tracker/http/client.hpp>

#include <memory>

namespace det::tracker::client {

/// Reads the records from a tracker, over HTTP. The errors are those of the tracker's own History, or
/// codes::transport and codes::timed_out if it does not answer. One thread at a time may use it.
class HttpHistory final : public history::History {
public:
    explicit HttpHistory(std::unique_ptr<http::Client> client) : client_(std::move(client)) {}

    Result<std::vector<ExperimentId>> list_experiments() override;
    Result<history::ExperimentRecord> load_experiment(ExperimentId id) override;
    Result<std::vector<history::RunReports>> load_reports(TrialId id) override;
    Result<std::vector<search::RungEntry>> load_rung(ExperimentId id, std::uint32_t bracket,
                                                     std::uint32_t rung) override;
    Result<std::optional<journal::BestValidation>> load_best_validation(TrialId id,
                                                                        ExperimentSpec const& spec) override;

private:
    Result<Json> get(std::string const& target);
    std::unique_ptr<http::Client> client_;
};

}  // namespace det::tracker::client
