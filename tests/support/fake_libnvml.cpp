// A stand-in for NVIDIA's management library with three GPUs, the second of which belongs to another job.
#include <cstdint>
#include <cstring>

namespace {

constexpr unsigned gpu_count = 3;
constexpr int success = 0, no_permission = 4;

unsigned index_of(void* device) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device)) - 1;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

struct FakeUtilisation {
    unsigned gpu, memory;
};
struct FakeMemory {
    unsigned long long total, free, used;
};

int nvmlInit_v2() { return success; }
int nvmlShutdown() { return success; }
int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = gpu_count;
    return success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    if (index == 1) return no_permission;
    *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index) + 1);
    return success;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
    if (size < sizeof "GPU-0") return no_permission;
    std::memcpy(uuid, "GPU-0", sizeof "GPU-0");
    uuid[4] = static_cast<char>('0' + index_of(device));
    return success;
}
int nvmlDeviceGetUtilizationRates(void* device, FakeUtilisation* utilisation) {
    *utilisation = {50 + index_of(device), 7};
    return success;
}
int nvmlDeviceGetMemoryInfo(void* device, FakeMemory* memory) {
    *memory = {1000, 400 + index_of(device), 600 - index_of(device)};
    return success;
}

}  // extern "C"
#pragma GCC visibility pop
