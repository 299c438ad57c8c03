#define DET_KERNELS avx512_kernels
#include "loops.hpp"
