#pragma once
// The sources of this folder are compiled once for each vendor, in the namespace DET_GPU_API: `cuda`, or with
// DET_GPU_HIP `hip`. This header gives the driver's types, constants and functions the same names for both.
// RCCL has the names of NCCL.
#ifdef DET_GPU_HIP
#define DET_GPU_API hip
#include "hip_api.hpp"
#else
#define DET_GPU_API cuda
#include "cuda_api.hpp"
#endif

// NCCL 2.14 and newer connect without blocking.
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 14, 0)
#define DET_NCCL_HAS_CONFIG
#endif
