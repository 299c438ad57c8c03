// For programs: the start code of glibc 2.34 and newer leaves the constructors of the program to glibc. An
// older glibc expects from the program a function that calls them.
#include <stddef.h>

#if defined(__x86_64__)
__asm__(".symver old_libc_start_main,__libc_start_main@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver old_libc_start_main,__libc_start_main@GLIBC_2.17");
#endif

typedef int Main(int, char**, char**);
typedef void Constructor(int, char**, char**);

extern int old_libc_start_main(Main* main, int argc, char** argv, Constructor* construct,
                               void (*destroy)(void), void (*end_of_loader)(void), void* end_of_stack);

// Of the linker and of crti.o.
extern Constructor* __preinit_array_start[] __attribute__((visibility("hidden")));
extern Constructor* __preinit_array_end[] __attribute__((visibility("hidden")));
extern Constructor* __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor* __init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void);

static void call_constructors(int argc, char** argv, char** environment) {
    for (Constructor** call = __preinit_array_start; call != __preinit_array_end; ++call)
        (*call)(argc, argv, environment);
    _init();
    for (Constructor** call = __init_array_start; call != __init_array_end; ++call)
        (*call)(argc, argv, environment);
}

int __libc_start_main(Main* main, int argc, char** argv, Constructor* construct, void (*destroy)(void),
                      void (*end_of_loader)(void), void* end_of_stack);
int __libc_start_main(Main* main, int argc, char** argv, Constructor* construct, void (*destroy)(void),
                      void (*end_of_loader)(void), void* end_of_stack) {
    if (construct == NULL) construct = call_constructors;
    return old_libc_start_main(main, argc, argv, construct, destroy, end_of_loader, end_of_stack);
}
