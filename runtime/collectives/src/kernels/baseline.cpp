#define DET_KERNELS baseline_kernels
#include "loops.hpp"
