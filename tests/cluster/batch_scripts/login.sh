# Sourced before each script is submitted, as a login shell reads the files of its site: `module` is a function that
# is exported, as Lmod does it.
export SITE_MODULES=${SITE_MODULES:-$PWD/env/modulefiles}
module() {
    case $1 in
        purge) unset LOADEDMODULES ;;
        load) shift; for name; do source "$SITE_MODULES/$name"; done ;;
        list) echo "Currently loaded: ${LOADEDMODULES-}" ;;
        *) echo "module: no command $1" >&2; return 1 ;;
    esac
}
export -f module
