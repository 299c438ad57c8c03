/* Fits a line to points, data-parallel over the ranks of a run: a training loop in C against det.h. */
#include <det/det.h>

#include <stdio.h>

enum { POINTS = 4096, DEFAULT_STEPS = 300, REPORT_EACH = 50, SAVE_EACH = 100 };

static const double learning_rate = 0.3;

/* The contents of a checkpoint: the same on every rank. */
struct model {
    double slope, offset;
    int64_t step;
};

#define TRY(call)                            \
    do {                                     \
        const det_status status = (call);    \
        if (status != DET_OK) return status; \
    } while (0)

/* The points lie around y = 3 x + 1. */
static double x_of(int point) { return 2.0 * point / POINTS - 1; }
static double y_of(int point) { return 3 * x_of(point) + 1 + 0.1 * (point % 7 - 3); }

/* Each rank sums over its share of the points; allreduce gives the sums over all points. */
static det_status train_step(det_context* context, struct model* model, double* loss) {
    const int32_t rank = det_distributed_rank(context), size = det_distributed_size(context);
    double sums[3] = {0, 0, 0}; /* gradient by slope, gradient by offset, loss */
    int point;
    for (point = rank; point < POINTS; point += size) {
        const double error = model->slope * x_of(point) + model->offset - y_of(point);
        sums[0] += error * x_of(point);
        sums[1] += error;
        sums[2] += error * error / 2;
    }
    TRY(det_distributed_allreduce(context, sums, sums, 3, DET_F64, DET_REDUCE_SUM));
    model->slope -= learning_rate * sums[0] / POINTS;
    model->offset -= learning_rate * sums[1] / POINTS;
    model->step += 1;
    *loss = sums[2] / POINTS;
    return DET_OK;
}

/* The number of steps to train: max_length of the searcher, or DEFAULT_STEPS. */
static det_status find_steps(det_context* context, int64_t* steps) {
    uint64_t batches = DEFAULT_STEPS;
    int32_t is_known = 0;
    TRY(det_searcher_batches_left(context, 0, &is_known, &batches));
    *steps = (int64_t)batches;
    return DET_OK;
}

static det_status report(det_context* context, const struct model* model, double loss, int64_t steps) {
    const char* const names[] = {"loss", "slope", "offset"};
    double values[3];
    values[0] = loss;
    values[1] = model->slope;
    values[2] = model->offset;
    TRY(det_train_report_numbers(context, "training", (uint64_t)model->step, names, values, 3));
    return det_train_report_progress(context, (double)model->step / (double)steps);
}

static det_status describe(struct model* model, det_state* state) {
    det_tensor tensor = DET_TENSOR_INIT;
    tensor.dtype = DET_F64;
    tensor.name = "slope";
    tensor.data = &model->slope;
    TRY(det_state_add(state, &tensor));
    tensor.name = "offset";
    tensor.data = &model->offset;
    TRY(det_state_add(state, &tensor));
    tensor.dtype = DET_I64;
    tensor.name = "step";
    tensor.data = &model->step;
    return det_state_add(state, &tensor);
}

static det_status train(det_context* context, struct model* model, const det_state* state) {
    const int is_chief = det_distributed_rank(context) == 0;
    det_loaded loaded = DET_LOADED_INIT;
    int32_t should_stop = 0;
    int64_t steps = 0;
    TRY(find_steps(context, &steps));
    TRY(det_checkpoint_load(context, state, DET_ON_DAMAGE_TAKE_OLDER, &loaded));
    if (is_chief && loaded.uuid[0] != '\0') printf("resumed at step %ld\n", (long)model->step);
    while (model->step < steps && !should_stop) {
        double loss = 0;
        int is_last = 0;
        TRY(train_step(context, model, &loss));
        is_last = model->step == steps;
        if (is_chief && (is_last || model->step % REPORT_EACH == 0)) TRY(report(context, model, loss, steps));
        TRY(det_preempt_should_preempt(context, &should_stop));
        if (should_stop || is_last || model->step % SAVE_EACH == 0) {
            TRY(det_checkpoint_save(context, (uint64_t)model->step, NULL, state, NULL));
        }
        TRY(det_checkpoint_poll(context, NULL));
    }
    TRY(det_context_close(context)); /* waits for saves in flight */
    if (is_chief) printf("y = %.2f x + %.2f at step %ld\n", model->slope, model->offset, (long)model->step);
    return DET_OK;
}

static det_status run(void) {
    struct model model = {0, 0, 0};
    det_context* context = NULL;
    det_state* state = NULL;
    det_status status = det_context_open(NULL, &context);
    if (status == DET_OK) status = det_state_create(&state);
    if (status == DET_OK) status = describe(&model, state);
    if (status == DET_OK) status = train(context, &model, state);
    det_state_destroy(state);
    det_context_destroy(context);
    return status;
}

int main(void) {
    const det_status status = run();
    if (status != DET_OK) fputs(det_error_text(), stderr);
    return status;
}
