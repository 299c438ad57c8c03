#define DET_KERNELS avx2_kernels
#include "loops.hpp"
