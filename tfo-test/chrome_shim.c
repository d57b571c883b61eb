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
 *    nothing is done) is where, in Chrome's file, the table of key exchange groups stands; harness/browser/binary.py finds
 *    it. The table is replaced by one without post-quantum groups, as it was before Chrome 124 - if it is that table.
 *
 * 4. Chrome opens six connections to a host at most, and no switch changes that. TFO_LAB_SOCKET_LIMITS (environment; unset:
 *    nothing is done) is where its limits stand in its file (harness/browser/binary.py finds them);
 *    TFO_LAB_CONNECTIONS_PER_HOST takes the place of the six - if they are those limits.
 *
 * 5. Where the servers are on loopback addresses (experiments/localhost.py), TFO_LAB_LOOPBACK (environment; unset: nothing
 *    is done) makes all of 127.0.0.0/8 other hosts but 127.0.0.1, where chromedriver and Chrome talk to each other.
 *
 * 6. Chrome writes a ClientHello that offers early data, HTTP/2's preface and the request one by one, and the kernel puts
 *    only the first write into the SYN. With TFO_LAB_JOIN_EARLY_DATA (environment; unset: nothing is done) such a
 *    ClientHello waits for the others, some milliseconds at most, and all travel in the SYN.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
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
static int join_early_data;

static int (*real_connect)(int, const struct sockaddr *, socklen_t);
static ssize_t (*real_send)(int, const void *, size_t, int);
static int (*real_close)(int);
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
    join_early_data = getenv("TFO_LAB_JOIN_EARLY_DATA") != NULL;
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

/*
 * What is held of a connection. With a cookie connect() has sent nothing yet (WAITING); a ClientHello that offers early data
 * is kept, with the writes after it (HOLDING); what the socket did not take at once follows (DRAINING).
 */
enum { MOST_FDS = 4096, ROOM = 4096, WRITES = 3, LONGEST_MS = 30, AFTER_LAST_MS = 1 };
enum state { UNTOUCHED, WAITING, HOLDING, DRAINING };

struct held {
    enum state state;
    int writes, left_ms;
    size_t size, sent;
    unsigned serial; /* which connection of this number it is */
    unsigned char data[ROOM];
};

struct release {
    int socket_fd;
    unsigned serial;
};

static struct held *held_of[MOST_FDS];
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t number_at(const unsigned char *bytes)
{
    return (size_t)bytes[0] << 8 | bytes[1];
}

/* Is it one record with a ClientHello that has the extension early_data (RFC 8446, sections 4.1.2 and 4.2.10)? */
static int offers_early_data(const unsigned char *record, size_t size)
{
    enum { HANDSHAKE = 22, CLIENT_HELLO = 1, EARLY_DATA = 42, SESSION_ID = 5 + 4 + 2 + 32 };
    size_t at = SESSION_ID, end;

    if (size < SESSION_ID + 1 || record[0] != HANDSHAKE || record[5] != CLIENT_HELLO)
        return 0;
    at += 1 + (size_t)record[at];
    if (at + 2 > size) /* cipher suites */
        return 0;
    at += 2 + number_at(record + at);
    if (at + 1 > size) /* compression methods */
        return 0;
    at += 1 + (size_t)record[at];
    if (at + 2 > size)
        return 0;
    end = at + 2 + number_at(record + at);
    for (at += 2; at + 4 <= end && at + 4 <= size; at += 4 + number_at(record + at + 2))
        if (number_at(record + at) == EARLY_DATA)
            return 1;
    return 0;
}

/* Send what is held, as far as the socket takes it. With the lock. */
static void send_held(int socket_fd, struct held *held)
{
    const ssize_t sent = real_send(socket_fd, held->data + held->sent, held->size - held->sent, MSG_NOSIGNAL);

    if (sent > 0)
        held->sent += (size_t)sent;
    /* A connection that failed says so to Chrome's own next call. */
    if (held->sent == held->size || (sent < 0 && errno != EAGAIN && errno != EINPROGRESS))
        held->state = UNTOUCHED;
    else
        held->state = DRAINING;
}

/* A thread for each ClientHello that is held: nobody else comes by when its time is over. */
static void *release_in_time(void *argument)
{
    const struct release release = *(struct release *)argument;
    struct held *held = held_of[release.socket_fd];

    free(argument);
    pthread_mutex_lock(&held_lock);
    while (held->serial == release.serial && held->state >= HOLDING) {
        if (held->state == DRAINING || held->left_ms-- <= 0)
            send_held(release.socket_fd, held);
        pthread_mutex_unlock(&held_lock);
        usleep(1000);
        pthread_mutex_lock(&held_lock);
    }
    pthread_mutex_unlock(&held_lock);
    return NULL;
}

/* The connection of this number begins: its first write may have to wait. */
static void expect_client_hello(int socket_fd)
{
    static unsigned serial;

    if (socket_fd < 0 || socket_fd >= MOST_FDS)
        return;
    pthread_mutex_lock(&held_lock);
    if (!held_of[socket_fd])
        held_of[socket_fd] = calloc(1, sizeof(struct held));
    if (held_of[socket_fd]) {
        struct held *held = held_of[socket_fd];

        held->state = WAITING;
        held->writes = held->left_ms = 0;
        held->size = held->sent = 0;
        held->serial = ++serial;
    }
    pthread_mutex_unlock(&held_lock);
}

/* Keep a write with what is held; 0 if it is not to be kept. With the lock. */
static int keep(int socket_fd, struct held *held, const void *data, size_t size)
{
    if (held->size + size > ROOM || (held->state == WAITING && !offers_early_data(data, size)))
        return 0;
    memcpy(held->data + held->size, data, size);
    held->size += size;
    if (held->state == WAITING) {
        struct release *release = malloc(sizeof(*release));
        pthread_t thread;

        held->left_ms = LONGEST_MS;
        if (release) {
            release->socket_fd = socket_fd;
            release->serial = held->serial;
        }
        if (!release || pthread_create(&thread, NULL, release_in_time, release) != 0) {
            free(release);
            held->size = 0;
            return 0;
        }
        (void)pthread_detach(thread);
        held->state = HOLDING;
    }
    if (++held->writes >= WRITES && held->left_ms > AFTER_LAST_MS)
        held->left_ms = AFTER_LAST_MS;
    return 1;
}

ssize_t send(int socket_fd, const void *data, size_t size, int flags)
{
    next_symbol((void **)&real_send, "send");
    if (!join_early_data || socket_fd < 0 || socket_fd >= MOST_FDS || !held_of[socket_fd])
        return real_send(socket_fd, data, size, flags);

    struct held *held = held_of[socket_fd];
    int kept = 0, full = 0;

    pthread_mutex_lock(&held_lock);
    if (held->state == WAITING || held->state == HOLDING) {
        kept = keep(socket_fd, held, data, size);
        if (!kept && held->state == HOLDING)
            send_held(socket_fd, held);
        else if (!kept)
            held->state = UNTOUCHED;
    } else if (held->state == DRAINING) {
        send_held(socket_fd, held);
    }
    full = held->state == DRAINING; /* what is held goes first */
    pthread_mutex_unlock(&held_lock);
    if (kept)
        return (ssize_t)size;
    if (full) {
        errno = EAGAIN;
        return -1;
    }
    return real_send(socket_fd, data, size, flags);
}

int close(int socket_fd)
{
    next_symbol((void **)&real_close, "close");
    if (join_early_data && socket_fd >= 0 && socket_fd < MOST_FDS && held_of[socket_fd]) {
        pthread_mutex_lock(&held_lock);
        held_of[socket_fd]->state = UNTOUCHED;
        pthread_mutex_unlock(&held_lock);
    }
    return real_close(socket_fd);
}

int connect(int socket_fd, const struct sockaddr *address, socklen_t length)
{
    next_symbol((void **)&real_connect, "connect");
    if (address && is_remote(address) && is_stream(socket_fd)) {
        const int on = 1;
        const int saved_errno = errno;

        /* Refused with EOPNOTSUPP where TFO is off: that is the run without TFO. */
        const int fast_open = setsockopt(socket_fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)) == 0;
        errno = saved_errno;
        if (fast_open && join_early_data) {
            const int result = real_connect(socket_fd, address, length);

            if (result == 0) /* with a cookie: nothing is sent before the first write */
                expect_client_hello(socket_fd);
            return result;
        }
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
