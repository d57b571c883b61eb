/*
 * An open-loop HTTP/1.0 client: requests begin at a constant rate, whether or not earlier ones are answered.
 *
 *     http_load ADDRESS PORT PATH RATE SECONDS FASTOPEN
 *
 * One thread and epoll. A request is a connection of its own; with FASTOPEN 1 it travels in the SYN where the kernel has a
 * cookie of the server (TCP_FASTOPEN_CONNECT, tcp(7)). Latencies count from when a request was due, not from when it was
 * sent: a client that falls behind must not hide that its requests waited ("coordinated omission").
 *
 * It prints one line of JSON: requests begun, answered (HTTP 200 and a whole body), failed, how long it took to begin them
 * all, and a histogram of latencies as pairs [us, count] with 1% of resolution.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef TCP_FASTOPEN_CONNECT
#define TCP_FASTOPEN_CONNECT 30
#endif

enum { MOST_OPEN = 60000, EVENTS = 256, BUCKETS = 2400, HEAD = 1023 };

static const int64_t NS = 1000000000;
static const int64_t PATIENCE_NS = 3 * (int64_t)1000000000;   /* after the last request was begun */
static const double GROWTH = 1.01;                            /* of one bucket to the next, from 1 us on */

/* One request: when it was due, whether it was written, its answer's bytes, and the beginning of that, as a string. */
struct request {
    int64_t due_ns, bytes;
    int written;
    int head_bytes;
    char head[HEAD + 1];
};

static struct request requests[MOST_OPEN];
static uint64_t histogram[BUCKETS];
static uint64_t begun, answered, failed;
static int open_now, poller;
static char text[512];
static size_t text_bytes;

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS + now.tv_nsec;
}

static void finish(int fd, int good)
{
    if (good) {
        const double us = (double)(now_ns() - requests[fd].due_ns) / 1000;
        const int bucket = us < 1 ? 0 : (int)(log(us) / log(GROWTH));

        histogram[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
        answered++;
    } else {
        failed++;
    }
    close(fd);
    open_now--;
}

/* Write the request; before the handshake is over the kernel says EAGAIN, and EPOLLOUT when it is. */
static int write_request(int fd)
{
    if (write(fd, text, text_bytes) == (ssize_t)text_bytes) {
        requests[fd].written = 1;
        return 1;
    }
    return errno == EAGAIN || errno == EINPROGRESS;
}

static void begin(const struct sockaddr_in *server, int64_t due_ns, int fastopen)
{
    const int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct epoll_event wanted = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.fd = fd}};

    begun++;
    if (fd < 0 || fd >= MOST_OPEN) {
        failed++;
        if (fd >= 0)
            close(fd);
        return;
    }
    open_now++;
    requests[fd] = (struct request){.due_ns = due_ns};
    if (fastopen)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on));
    const int connected = connect(fd, (const struct sockaddr *)server, sizeof(*server));
    if ((connected != 0 && errno != EINPROGRESS) || (connected == 0 && !write_request(fd)) ||
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &wanted) != 0)
        finish(fd, 0);
}

/* Whether an answer is HTTP 200, with a whole head and, if that has a Content-Length, with so many bytes behind it. */
static int is_whole(const struct request *request)
{
    static const char LENGTH[] = "\r\nContent-Length:";
    const char *end = strstr(request->head, "\r\n\r\n"), *length = strcasestr(request->head, LENGTH);

    if (!end || strncmp(request->head + 8, " 200", 4) != 0)
        return 0;
    return !length || length > end || request->bytes - (end + 4 - request->head) == atoll(length + strlen(LENGTH));
}

static void read_answer(int fd)
{
    struct request *request = &requests[fd];
    char buffer[16384];
    ssize_t size;

    while ((size = read(fd, buffer, sizeof(buffer))) > 0) {
        const int room = HEAD - request->head_bytes, taken = size < room ? (int)size : room;

        memcpy(request->head + request->head_bytes, buffer, (size_t)taken);
        request->head_bytes += taken;
        request->bytes += size;
    }
    if (size == 0)
        finish(fd, is_whole(request));
    else if (errno != EAGAIN)
        finish(fd, 0);
}

static void handle(const struct epoll_event *event)
{
    const int fd = event->data.fd;

    if (!requests[fd].written && (event->events & EPOLLOUT) && !write_request(fd)) {
        finish(fd, 0);
        return;
    }
    if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        read_answer(fd);
}

static void poll_until(int64_t until_ns)
{
    struct epoll_event events[EVENTS];
    const int64_t left_ns = until_ns - now_ns();
    const struct timespec wait = {left_ns > 0 ? left_ns / NS : 0, left_ns > 0 ? left_ns % NS : 0};
    const int ready = epoll_pwait2(poller, events, EVENTS, &wait, NULL);

    for (int i = 0; i < ready; i++)
        handle(&events[i]);
}

static void print_result(int64_t began_ns, int64_t ended_ns)
{
    const char *separator = "";

    printf("{\"begun\": %" PRIu64 ", \"answered\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"seconds\": %.6f, \"latencies_us\": [",
           begun, answered, failed, (double)(ended_ns - began_ns) / 1e9);
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        if (histogram[bucket]) {
            printf("%s[%.1f, %" PRIu64 "]", separator, pow(GROWTH, bucket + 0.5), histogram[bucket]);
            separator = ", ";
        }
    }
    printf("]}\n");
}

int main(int argc, char **argv)
{
    struct sockaddr_in server = {.sin_family = AF_INET};
    struct rlimit files;

    if (argc != 7 || inet_pton(AF_INET, argv[1], &server.sin_addr) != 1 || atof(argv[4]) <= 0) {
        fprintf(stderr, "usage: http_load ADDRESS PORT PATH RATE SECONDS FASTOPEN\n");
        return 2;
    }
    server.sin_port = htons((uint16_t)atoi(argv[2]));
    text_bytes = (size_t)snprintf(text, sizeof(text), "GET %s HTTP/1.0\r\nHost: server.test\r\n\r\n", argv[3]);
    poller = epoll_create1(0);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    if (poller < 0 || text_bytes >= sizeof(text)) {
        perror("http_load");
        return 1;
    }
    const double rate = atof(argv[4]), step_ns = (double)NS / rate;
    const uint64_t total = (uint64_t)(rate * atof(argv[5]));
    const int64_t began_ns = now_ns();

    while (begun < total) {
        const int64_t due_ns = began_ns + (int64_t)((double)begun * step_ns);

        if (now_ns() >= due_ns)
            begin(&server, due_ns, atoi(argv[6]));
        poll_until(due_ns);
    }
    /* The last request has its share of the time, too: else n requests were begun in the time of n - 1. */
    const int64_t whole_ns = began_ns + (int64_t)((double)total * step_ns);

    while (now_ns() < whole_ns)
        poll_until(whole_ns);
    const int64_t ended_ns = now_ns();

    while (open_now > 0 && now_ns() < ended_ns + PATIENCE_NS)
        poll_until(ended_ns + PATIENCE_NS);
    failed += (uint64_t)open_now;
    print_result(began_ns, ended_ns);
    return 0;
}
