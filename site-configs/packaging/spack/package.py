# Untried: no Spack was at hand. Copy this folder to packages/det-submit of a Spack repository, and set `url` or `git` to where your
# site keeps the sources.
from spack.package import *


class DetSubmit(CMakePackage):
    """Determined-style machine learning experiments on a plain Slurm cluster."""

    license("Apache-2.0 AND GPL-2.0-or-later")

    version("develop", branch="main")

    variant("mpi", default=True, description="The transport over MPI")
    variant("ucx", default=True, description="The transport over UCX")
    variant("slurm", default=True, description="The SPANK plugin and the libslurm module")
    variant("s3", default=True, description="Checkpoint storage of type s3")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("fmt@8:")
    depends_on("nlohmann-json@3.9:")
    depends_on("cli11@2:")
    depends_on("yaml-cpp@0.7:")
    depends_on("zstd")
    depends_on("zlib-api")
    depends_on("libarchive")
    depends_on("re2")
    depends_on("sqlite@3.35:")
    depends_on("boost@1.74:")
    depends_on("openssl")
    depends_on("mpi", when="+mpi")
    depends_on("ucx", when="+ucx")
    depends_on("slurm", when="+slurm")
    depends_on("curl", when="+s3")

    conflicts("%gcc@:10", msg="det-submit needs gcc 11 or newer")

    def cmake_args(self):
        return [
            self.define("BUILD_TESTING", False),
            self.define("DET_FETCH_DEPENDENCIES", "OFF"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_MPI", "~mpi" in self.spec),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_CURL", "~s3" in self.spec),
        ]
