/*
 * LD_PRELOAD shim for Chrome: TCP Fast Open on every connect, a wall clock some days ahead, a ClientHello that fits
 * into a SYN, and more or fewer connections to a host.
 *
 * 1. Today's Chrome has no TFO of its own. connect() on a TCP socket to another host first sets
 *    TCP_FASTOPEN_CONNECT (Linux 4.11, tcp(7)): with a cookie in the kernel's cache connect() returns at once and
 *    the first write travels in the SYN. Where net.ipv4.tcp_fastopen has no client bit the setsockopt fails and the
 *    connect is an ordinary one, so the same shim serves the runs with and without TFO.
 *
 * 2. Chrome's built-in HSTS list rewrites http://www.nytimes.com and others to https before a packet is sent. It
 *    ignores the list when its own build is over 70 days old by the wall clock. So CLOCK_REALTIME is moved ahead by
 *    TFO_LAB_CLOCK_DAYS days (environment; 0 or unset: not at all). The monotonic clock, which times everything,
 *    is left alone.
 *
 * 3. Chrome's ClientHello holds a post-quantum key of 1216 bytes and is longer than a packet, so its end waits for the
 *    SYN-ACK and TFO saves nothing. No switch of Chrome turns that off any more. TFO_LAB_KEY_SHARES (environment; unset:
 *    nothing is done) is where, in Chrome's file, the table of key exchange groups stands; harness/browser/client_hello.py finds
 *    it. The table is replaced by one without post-quantum groups, as it was before Chrome 124 - if it is that table.
 *
 * 4. Chrome opens six connections to a host at most, and no switch changes that. TFO_LAB_SOCKET_LIMITS (environment; unset:
 *    nothing is done) is where its limits stand in its file (harness/browser/connection_limit.py finds them);
 *    TFO_LAB_CONNECTIONS_PER_HOST takes the place of the six - if they are those limits.
 *
 * 5. Where the servers are on loopback addresses (experiments/localhost.py), TFO_LAB_LOOPBACK (environment; unset: nothing
 *    is done) makes all of 127.0.0.0/8 other hosts but 127.0.0.1, where chromedriver and Chrome talk to each other.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef TCP_FASTOPEN_CONNECT
#define TCP_FASTOPEN_CONNECT 30
#endif

static const time_t SECONDS_PER_DAY = 86400;

static time_t clock_shift_s;
static int servers_on_loopback;

static int (*real_connect)(int, const struct sockaddr *, socklen_t);
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_gettimeofday)(struct timeval *, void *);

/* Chrome's table kDefaultSSLSupportedGroups: a group's number, whether its key is sent at once, and one byte unused. */
struct named_group {
    uint16_t id;
    uint8_t send_key_share;
    uint8_t padding;
};

enum { X25519_MLKEM768 = 0x11ec, X25519 = 0x1d, P256 = 0x17, P384 = 0x18, P521 = 0x19 };

static const struct named_group POST_QUANTUM_GROUPS[4] = {
    {X25519_MLKEM768, 1, 0}, {X25519, 1, 0}, {P256, 0, 0}, {P384, 0, 0}};
static const struct named_group CLASSIC_GROUPS[4] = {
    {X25519, 1, 0}, {P256, 0, 0}, {P384, 0, 0}, {P521, 0, 0}};

static void replace_groups(unsigned char *table)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = sizeof(CLASSIC_GROUPS);
    unsigned char *start = table - (uintptr_t)table % page;
    const size_t length = (size_t)(table - start) + size;

    if (memcmp(table, POST_QUANTUM_GROUPS, size) == 0 && mprotect(start, length, PROT_READ | PROT_WRITE) == 0) {
        memcpy(table, CLASSIC_GROUPS, size);
        (void)mprotect(start, length, PROT_READ);
    }
}

/* Chrome's limits of sockets: of pages and of WebSockets, to all hosts together, then to one host. */
enum { PER_HOST = 2 };

static const int64_t SOCKET_LIMITS[4] = {256, 256, 6, 255};

static void replace_limit(unsigned char *limits, int64_t per_host)
{
    if (memcmp(limits, SOCKET_LIMITS, sizeof(SOCKET_LIMITS)) == 0)
        memcpy(limits + PER_HOST * sizeof(per_host), &per_host, sizeof(per_host));
}

/* A piece of the program's file, and where it is in memory: NULL until it is found in a segment with these flags. */
struct piece {
    uint64_t offset;
    size_t size;
    ElfW(Word) flags;
    unsigned char *in_memory;
};

/* The program itself comes first. */
static int find_piece(struct dl_phdr_info *program, size_t size, void *data)
{
    struct piece *piece = data;

    (void)size;
    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &program->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD && segment->p_flags == piece->flags && piece->offset >= segment->p_offset &&
            piece->offset + piece->size <= segment->p_offset + segment->p_filesz)
            piece->in_memory =
                (unsigned char *)(program->dlpi_addr + segment->p_vaddr + (piece->offset - segment->p_offset));
    }
    return 1;
}

/* Where the piece is in memory that begins as far into the file as the environment says; NULL without such a place. */
static unsigned char *named_piece(const char *variable, size_t size, ElfW(Word) flags)
{
    const char *offset = getenv(variable);
    struct piece piece = {offset ? strtoull(offset, NULL, 10) : 0, size, flags, NULL};

    if (piece.offset)
        dl_iterate_phdr(find_piece, &piece);
    return piece.in_memory;
}

__attribute__((constructor)) static void read_settings(void)
{
    const char *days = getenv("TFO_LAB_CLOCK_DAYS"), *per_host = getenv("TFO_LAB_CONNECTIONS_PER_HOST");
    unsigned char *groups = named_piece("TFO_LAB_KEY_SHARES", sizeof(CLASSIC_GROUPS), PF_R);
    unsigned char *limits = named_piece("TFO_LAB_SOCKET_LIMITS", sizeof(SOCKET_LIMITS), PF_R | PF_W);

    servers_on_loopback = getenv("TFO_LAB_LOOPBACK") != NULL;
    clock_shift_s = days ? atol(days) * SECONDS_PER_DAY : 0;
    if (groups)
        replace_groups(groups);
    if (limits && per_host)
        replace_limit(limits, atol(per_host));
}

/* dlsym on first use: Chrome asks for the time before constructors have run. */
static void *next_symbol(void **cached, const char *name)
{
    void *symbol = __atomic_load_n(cached, __ATOMIC_ACQUIRE);

    if (!symbol) {
        symbol = dlsym(RTLD_NEXT, name);
        __atomic_store_n(cached, symbol, __ATOMIC_RELEASE);
    }
    return symbol;
}

static int is_this_host(in_addr_t ipv4)
{
    if (servers_on_loopback)
        return ipv4 == htonl(INADDR_LOOPBACK) || ipv4 == htonl(INADDR_ANY);
    return ntohl(ipv4) >> 24 == IN_LOOPBACKNET || ipv4 == htonl(INADDR_ANY);
}

static int is_remote(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)address;
        return !is_this_host(ipv4->sin_addr.s_addr);
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)address;
        const struct in6_addr *to = &ipv6->sin6_addr;

        if (IN6_IS_ADDR_V4MAPPED(to))
            return !is_this_host(to->s6_addr32[3]);
        return !IN6_IS_ADDR_LOOPBACK(to) && !IN6_IS_ADDR_UNSPECIFIED(to);
    }
    return 0;
}

static int is_stream(int socket_fd)
{
    int type = 0;
    socklen_t length = sizeof(type);

    return getsockopt(socket_fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

int connect(int socket_fd, const struct sockaddr *address, socklen_t length)
{
    next_symbol((void **)&real_connect, "connect");
    if (address && is_remote(address) && is_stream(socket_fd)) {
        const int on = 1;
        const int saved_errno = errno;

        /* Refused with EOPNOTSUPP where TFO is off: that is the run without TFO. */
        (void)setsockopt(socket_fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on));
        errno = saved_errno;
    }
    return real_connect(socket_fd, address, length);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    next_symbol((void **)&real_clock_gettime, "clock_gettime");
    const int result = real_clock_gettime(clock, now);

    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += clock_shift_s;
    return result;
}

int gettimeofday(struct timeval *restrict, void *restrict); /* <sys/time.h> says that now is never NULL: it may be */

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    next_symbol((void **)&real_gettimeofday, "gettimeofday");
    const int result = real_gettimeofday(now, zone);

    if (result == 0 && now)
        now->tv_sec += clock_shift_s;
    return result;
}

time_t time(time_t *result)
{
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return (time_t)-1;
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}
