#pragma once
// The C interface only: the C++ bindings of older MPIs do not compile as C++20.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
