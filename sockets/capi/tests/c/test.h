/* What the test programs share. Each of them is built with libtresse, and with the header of
 * lksctp-tools to run under the preloaded library. A program exits with 0 if all went well. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef TEST_LKSCTP
#include <netinet/sctp.h>
#else
#include <tresse/sctp.h>
#endif

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: %s (errno: %s)\n", __FILE__, __LINE__,          \
				#condition, strerror(errno));                                   \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

/* The call fails with an error number. */
#define FAILS(call, number)                                                                     \
	do {                                                                                    \
		errno = 0;                                                                      \
		long result_ = (long)(call);                                                    \
		if (result_ != -1 || errno != (number)) {                                       \
			fprintf(stderr, "%s:%d: %s: %ld, %s instead of %s\n", __FILE__,         \
				__LINE__, #call, result_, strerror(errno), #number);            \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

/* AF_INET or AF_INET6, and its loopback address, as the first argument says. */
static int family = AF_INET;
static const char *loopback = "127.0.0.1";

__attribute__((unused)) static void start(int argc, char **argv)
{
	/* Instead of waiting for ever. */
	alarm(100);
	if (argc > 1 && strcmp(argv[1], "6") == 0) {
		family = AF_INET6;
		loopback = "::1";
	}
#ifndef TEST_LKSCTP
	struct tresse_config config = { .size = sizeof config };
	config.local = getenv("TEST_LOCAL");
	config.udp_port = atoi(getenv("TEST_UDP_PORT"));
	config.peer_udp_port = config.udp_port;
	if (tresse_start(&config) != 0) {
		fprintf(stderr, "tresse_start: %s\n", tresse_error());
		exit(1);
	}
#endif
}

/* Fills in an address and gives its length. */
__attribute__((unused)) static socklen_t name(void *at, const char *text, int port)
{
	if (strchr(text, ':')) {
		struct sockaddr_in6 *six = at;
		memset(six, 0, sizeof *six);
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		CHECK(inet_pton(AF_INET6, text, &six->sin6_addr) == 1);
		return sizeof *six;
	}
	struct sockaddr_in *four = at;
	memset(four, 0, sizeof *four);
	four->sin_family = AF_INET;
	four->sin_port = htons(port);
	CHECK(inet_pton(AF_INET, text, &four->sin_addr) == 1);
	return sizeof *four;
}

__attribute__((unused)) static int port_of(const void *at)
{
	const struct sockaddr_in *four = at;
	const struct sockaddr_in6 *six = at;
	return ntohs(four->sin_family == AF_INET ? four->sin_port : six->sin6_port);
}

__attribute__((unused)) static int on(int fd, int option, int value)
{
	return setsockopt(fd, IPPROTO_SCTP, option, &value, sizeof value);
}

__attribute__((unused)) static int event(int fd, int type, int wanted)
{
	struct sctp_event what;
	memset(&what, 0, sizeof what);
	what.se_assoc_id = SCTP_ALL_ASSOC;
	what.se_type = type;
	what.se_on = wanted;
	return setsockopt(fd, IPPROTO_SCTP, SCTP_EVENT, &what, sizeof what);
}

/* A socket that is bound to the loopback address and listens. */
__attribute__((unused)) static int listener(int type, int port)
{
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, port);
	int fd = socket(family, type, IPPROTO_SCTP);
	CHECK(fd >= 0);
	CHECK(bind(fd, (struct sockaddr *)&to, len) == 0);
	CHECK(listen(fd, 5) == 0);
	return fd;
}

/* A connected one-to-one socket; `accepted` is the other end. */
__attribute__((unused)) static int pair(int server, int port, int *accepted)
{
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, port);
	int fd = socket(family, SOCK_STREAM, IPPROTO_SCTP);
	CHECK(fd >= 0);
	CHECK(connect(fd, (struct sockaddr *)&to, len) == 0);
	*accepted = accept(server, NULL, NULL);
	CHECK(*accepted >= 0);
	return fd;
}

/* Reads a notification, and checks its type. */
__attribute__((unused)) static union sctp_notification *told(int fd, int type)
{
	static char buffer[4096] __attribute__((aligned(8)));
	union sctp_notification *event = (void *)buffer;
	struct iovec iov = { buffer, sizeof buffer };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t len = recvmsg(fd, &message, 0);
	CHECK(len >= (ssize_t)sizeof event->sn_header);
	CHECK(message.msg_flags & MSG_NOTIFICATION);
	CHECK(event->sn_header.sn_length == (uint32_t)len);
	if (event->sn_header.sn_type != type)
		fprintf(stderr, "notification %#x instead of %#x\n", event->sn_header.sn_type, type);
	CHECK(event->sn_header.sn_type == type);
	return event;
}
