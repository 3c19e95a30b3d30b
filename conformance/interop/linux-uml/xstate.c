/*
 * Preloaded into user-mode Linux, which keeps 2696 bytes of a process' extended processor state (FP_XSTATE of
 * Linux 6.1, arch/x86/um/user-offsets.c). A host whose processor has more of it, such as AMX' tiles, takes the
 * state only as a whole: PTRACE_SETREGSET of less fails with EFAULT, and the guest panics when it starts init. So
 * what is missing is filled up with what the process has.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

/* More than any processor has. */
#define WHOLE (1 << 16)

static long (*next)(enum __ptrace_request, ...);

long ptrace(enum __ptrace_request request, ...)
{
    static __thread char whole[WHOLE] __attribute__((aligned(64)));
    va_list arguments;
    va_start(arguments, request);
    pid_t pid = va_arg(arguments, pid_t);
    void *address = va_arg(arguments, void *);
    void *data = va_arg(arguments, void *);
    va_end(arguments);

    if (!next)
        next = dlsym(RTLD_NEXT, "ptrace");
    if (request != PTRACE_SETREGSET || address != (void *)NT_X86_XSTATE)
        return next(request, pid, address, data);
    const struct iovec *part = data;
    struct iovec all = {whole, sizeof whole};
    if (next(PTRACE_GETREGSET, pid, address, &all) < 0)
        return -1;
    memcpy(whole, part->iov_base, part->iov_len < all.iov_len ? part->iov_len : all.iov_len);
    return next(PTRACE_SETREGSET, pid, address, &all);
}
