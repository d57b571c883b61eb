/* Let User-mode Linux 6.1 run on processors with more than 2696 bytes of vector state (Intel AMX: 11008 bytes).
 *
 * It saves and restores its processes' vector registers with PTRACE_GETREGSET and PTRACE_SETREGSET and a buffer of
 * HOST_FP_SIZE = 2696 bytes (its arch/x86/um/user-offsets.c), which ends behind AVX-512 and the protection keys. The
 * host takes a SETREGSET of the whole area only and answers EFAULT to a shorter one (its arch/x86/kernel/fpu/regset.c,
 * xstateregs_set), of which UML's init dies: "userspace - ptrace set fp regs failed, errno = 14".
 *
 * Preloaded (scripts/uml.sh), this completes such a SETREGSET: the bytes given, then zeros, with the bits of the state
 * components that lie behind them cleared in XSTATE_BV. What is lost is AMX's tiles, which nothing may use without
 * asking for them (arch_prctl(2), ARCH_REQ_XCOMP_PERM), and UML does not know how to ask.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

#define MOST_BYTES 65536
#define XSTATE_BV_OFFSET 512     /* Intel SDM volume 1, 13.4.2: XSAVE header, its first 8 bytes */
#define XSAVE_LEAF 0xd

/* Bits of the components whose standard-format place ends at or before `bytes`. */
static uint64_t components_within(size_t bytes)
{
    uint64_t bits = 3;           /* x87 and SSE: the legacy region */
    for (unsigned component = 2; component < 63; component++) {
        unsigned size, offset, flags, unused;
        __cpuid_count(XSAVE_LEAF, component, size, offset, flags, unused);
        if (size != 0 && offset + size <= bytes)
            bits |= UINT64_C(1) << component;
    }
    return bits;
}

/* Size of the area for all components the system has enabled (XCR0). */
static size_t whole_size(void)
{
    unsigned unused, size, b, c;
    __cpuid_count(XSAVE_LEAF, 0, unused, size, b, c);
    return size;
}

typedef long (*ptrace_function)(int, pid_t, void *, void *);

long ptrace(enum __ptrace_request request, ...)
{
    static ptrace_function real;
    static size_t whole;
    static uint64_t kept;
    static __thread unsigned char area[MOST_BYTES];
    va_list arguments;
    va_start(arguments, request);
    pid_t pid = va_arg(arguments, pid_t);
    void *address = va_arg(arguments, void *);
    void *data = va_arg(arguments, void *);
    va_end(arguments);
    if (!real)
        real = (ptrace_function)(uintptr_t)dlsym(RTLD_NEXT, "ptrace");
    struct iovec *given = data;
    if (request != PTRACE_SETREGSET || (uintptr_t)address != NT_X86_XSTATE || given->iov_len < XSTATE_BV_OFFSET + 64)
        return real((int)request, pid, address, data);
    if (!whole)
        whole = whole_size();
    if (given->iov_len >= whole || whole > MOST_BYTES)
        return real((int)request, pid, address, data);
    if (!kept)
        kept = components_within(given->iov_len);
    memcpy(area, given->iov_base, given->iov_len);
    uint64_t present;
    memcpy(&present, area + XSTATE_BV_OFFSET, sizeof present);
    present &= kept;
    memcpy(area + XSTATE_BV_OFFSET, &present, sizeof present);
    struct iovec complete = {.iov_base = area, .iov_len = whole};
    return real((int)request, pid, address, &complete);
}
