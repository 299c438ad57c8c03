"""The version of det-submit. CMake checks that it is that of the project."""

__version__ = "0.1.0"
