#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "conversions.hpp"
#include "handle_types.hpp"

using namespace det;

namespace {

Result<core::PreemptMode> to_mode(det_preempt_mode mode) {
    using enum core::PreemptMode;
    constexpr core::PreemptMode modes[] = {workers_ask_chief, chief_only, workers_ask_master};
    if (mode >= 0 && static_cast<std::size_t>(mode) < std::size(modes)) return modes[mode];
    return Error{codes::misuse, fmt::format("there is no mode of preemption {}", mode)};
}

Result<core::Devices> to_devices(det_devices devices) {
    constexpr core::Devices known[] = {core::Devices::none, core::Devices::nccl, core::Devices::rccl};
    if (devices >= 0 && static_cast<std::size_t>(devices) < std::size(known)) return known[devices];
    return Error{codes::misuse, fmt::format("there are no devices {}", devices)};
}

Result<core::ContextOptions> to_core(det_context_options const& options) {
    core::ContextOptions converted;
    DET_TRY_ASSIGN(converted.preempt_mode, to_mode(options.preempt_mode));
    DET_TRY_ASSIGN(converted.devices, to_devices(options.devices));
    if (options.checkpoint_path != nullptr) converted.checkpoint_path = options.checkpoint_path;
    if (options.checkpoint_storage != nullptr) {
        DET_TRY_ASSIGN(converted.checkpoint_storage,
                       capi::parse(options.checkpoint_storage, "checkpoint_storage"));
    }
    if (options.on_warning != nullptr) {
        converted.on_warning = [tell = options.on_warning, user = options.user](std::string const& warning) {
            tell(warning.c_str(), user);
        };
    }
    return converted;
}

Result<std::string> render(core::Info const& info) {
    Json rendered{{"run_dir", info.run_dir.string()},
                  {"cluster", parse_json(render_cluster_info(info.cluster))}};
    DET_TRY_ASSIGN(auto const rendezvous, render_rendezvous_info(info.rendezvous));
    rendered["rendezvous"] = parse_json(rendezvous);
    if (info.trial) rendered["trial"] = parse_json(render_trial_info(*info.trial));
    return to_line(rendered);
}

/// Renders the texts that det_context_info() and det_context_hyperparameters() return.
Status describe(det_context& context) {
    if (auto const* info = context.core->info()) {
        DET_TRY_ASSIGN(context.info, render(*info));
    }
    context.hyperparameters = to_line(context.core->hyperparameters());
    return Ok{};
}

Status give(Result<core::Context> core, det_context** context) {
    if (!core) return std::move(core).error();
    auto opened = std::make_unique<det_context>();
    opened->core = std::make_shared<core::Context>(*std::move(core));
    DET_TRY(describe(*opened));
    *context = opened.release();
    return Ok{};
}

}  // namespace

det_status det_context_open(det_context_options const* options, det_context** context) {
    return capi::guarded([&]() -> Status {
        DET_TRY(capi::require(context, "context"));
        DET_TRY_ASSIGN(auto const given, capi::read(options, "det_context_options"));
        DET_TRY_ASSIGN(auto wanted, to_core(given));
        return give(core::Context::init(std::move(wanted)), context);
    });
}

det_status det_context_connect(det_ranks const* ranks, det_context_options const* options,
                               det_context** context) {
    return capi::guarded([&]() -> Status {
        DET_TRY(capi::require(ranks, "ranks", context, "context"));
        DET_TRY_ASSIGN(auto const numbers, capi::read(ranks, "det_ranks"));
        DET_TRY_ASSIGN(auto const given, capi::read(options, "det_context_options"));
        DET_TRY_ASSIGN(auto const wanted, to_core(given));
        core::RankNumbers own;
        own.identity = {numbers.rank,
                        numbers.size,
                        {numbers.local_rank, numbers.local_size, numbers.cross_rank, numbers.cross_size}};
        if (numbers.group != nullptr) own.group = numbers.group;
        if (numbers.chief_address != nullptr) own.chief_address = numbers.chief_address;
        return give(core::Context::connect(own, wanted), context);
    });
}

det_status det_context_join_run(det_context* context, det_context_options const* options) {
    return capi::guarded([&]() -> Status {
        DET_TRY(capi::require(context, "context"));
        DET_TRY_ASSIGN(auto const given, capi::read(options, "det_context_options"));
        DET_TRY_ASSIGN(auto const wanted, to_core(given));
        DET_TRY(context->core->join_run(wanted));
        return describe(*context);
    });
}

det_status det_context_add_devices(det_context* context, det_devices devices) {
    return capi::guarded([&]() -> Status {
        DET_TRY(capi::require(context, "context"));
        DET_TRY_ASSIGN(auto const wanted, to_devices(devices));
        return context->core->add_devices(wanted);
    });
}

det_status det_context_split(det_context* context, det_subset subset, det_context** part) {
    return capi::guarded([&]() -> Status {
        DET_TRY(capi::require(context, "context", part, "part"));
        if (subset == DET_SUBSET_LOCAL) return give(context->core->local_ranks(), part);
        if (subset == DET_SUBSET_CROSS) return give(context->core->cross_ranks(), part);
        return Error{codes::misuse, fmt::format("there is no subset {} of the ranks", subset)};
    });
}

det_status det_context_close(det_context* context) {
    return capi::guarded([&]() -> Status {
        DET_TRY(capi::require(context, "context"));
        DET_TRY(context->core->close());
        return capi::first_failure(context->ended);
    });
}

void det_context_destroy(det_context* context) { delete context; }

char const* det_context_info(det_context const* context) {
    return context == nullptr || context->info.empty() ? nullptr : context->info.c_str();
}

char const* det_context_hyperparameters(det_context const* context) {
    return context == nullptr ? nullptr : context->hyperparameters.c_str();
}
