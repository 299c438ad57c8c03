"""The documented calls of Lightning 2 that determined.lightning uses, for tests: no release of Debian has Lightning.

Only the order of the calls and their arguments are Lightning's, as its documentation and source of 2.0 to 2.6 have them.
"""
