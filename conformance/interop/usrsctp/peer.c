/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/*
 * An SCTP peer for interoperability tests: usrsctp over UDP encapsulation (RFC 6951).
 *
 *   peer server --udp PORT --port PORT [options]
 *   peer client --udp PORT --peer-udp PORT --peer-port PORT [options]
 *
 * Build: cc -O2 -o peer peer.c -lusrsctp -lpthread
 *
 * One association carries `--messages` messages of `--size` bytes each way. A client sends at
 * once; a server sends after it has received everything, or at once with --duplex. Message i
 * travels on stream i mod streams; its bytes and its PPID are those of ../payload.h. So every byte, the order on every stream and the PPID are verified.
 *
 * stdout, for the test that runs it:
 *   READY udp=... sctp=...           a server listens
 *   UP out=... in=...                the association is established
 *   OK received=... messages=... sum=... sent=... end=shutdown|aborted      exit code 0
 *   FAIL reason                      exit code 1, or 3 when --timeout ran out
 * Exit code 2 is a wrong command line.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <usrsctp.h>

#include "../payload.h"

#define MAX_MESSAGE (8u << 20)
#define ABORT_REASON "peer asked to abort"

/* How the association ends on this side, or ended. */
enum end { END_NONE, END_WAIT, END_SHUTDOWN, END_ABORT };

struct options {
	bool server;
	const char *address;      /* ours and the peer's: one loopback address */
	uint16_t udp, port, peer_udp, peer_port;
	uint64_t send_messages;   /* how many this side sends */
	uint64_t receive_messages;
	uint32_t size;            /* bytes of each message, both ways */
	uint16_t streams;
	uint32_t mtu;             /* largest IP packet */
	bool unordered, duplex;
	enum end close;           /* what this side does when both directions are complete */
	enum end expect;          /* END_ABORT: the peer's ABORT is the expected end */
	unsigned timeout;         /* seconds */
};

struct received {
	uint64_t bytes, messages, sum;
	uint64_t *next;           /* per stream: the smallest index that may still come */
};

static struct options options = {
	.address = "127.0.0.1", .send_messages = 10000, .receive_messages = 10000, .size = 1000,
	.streams = 1, .mtu = 1500, .close = END_NONE, .expect = END_SHUTDOWN, .timeout = 60,
};

__attribute__((noreturn, format(printf, 1, 2)))
static void fail(const char *format, ...)
{
	va_list arguments;

	fputs("FAIL ", stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
	_exit(1); /* usrsctp's threads must not hold the process */
}

static void *allocate(size_t size)
{
	void *memory = calloc(1, size);

	if (memory == NULL)
		fail("out of memory");
	return memory;
}

static void on_alarm(int signal_number)
{
	static const char text[] = "FAIL timeout\n";
	ssize_t written = write(STDOUT_FILENO, text, sizeof(text) - 1);

	(void)signal_number;
	(void)written;
	_exit(3);
}

static void verify(struct received *got, const uint8_t *message, size_t size,
    const struct sctp_rcvinfo *info)
{
	static uint8_t *expected;
	uint16_t stream = info->rcv_sid;

	if (expected == NULL)
		expected = allocate(options.size);
	if (size != options.size)
		fail("message of %zu bytes instead of %u", size, options.size);
	uint64_t index = payload_index(message);
	if (index >= options.receive_messages)
		fail("message index %" PRIu64 " does not exist", index);
	payload_fill(expected, size, index);
	if (memcmp(expected, message, size) != 0)
		fail("message %" PRIu64 " is corrupt", index);
	if (stream != index % options.streams)
		fail("message %" PRIu64 " came on stream %u", index, stream);
	if (ntohl(info->rcv_ppid) != payload_ppid(index))
		fail("message %" PRIu64 " came with PPID %x", index, ntohl(info->rcv_ppid));
	if (options.unordered != ((info->rcv_flags & SCTP_UNORDERED) != 0))
		fail("message %" PRIu64 " has a wrong U flag", index);
	if (!options.unordered) {
		/* Ordered and reliable: exactly the next one of its stream. */
		if (index != got->next[stream])
			fail("stream %u: message %" PRIu64 " instead of %" PRIu64, stream, index,
			    got->next[stream]);
		got->next[stream] += options.streams;
	}
	got->bytes += size;
	got->messages++;
	got->sum += payload_digest(message, size);
}

/* ---- socket ----------------------------------------------------------------------------- */

static void set_option(struct socket *sock, int name, const void *value, socklen_t length)
{
	if (usrsctp_setsockopt(sock, IPPROTO_SCTP, name, value, length) != 0)
		fail("setsockopt %#x: %s", name, strerror(errno));
}

static socklen_t socket_address(struct sockaddr_storage *out, uint16_t port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, options.address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, options.address, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		return sizeof(*v6);
	}
	fail("not an IP address: %s", options.address);
}

/* usrsctp_init says nothing when its UDP port is taken, so look first. */
static void check_udp_port(void)
{
	struct sockaddr_storage address;
	socklen_t length = socket_address(&address, options.udp);
	int fd = socket(address.ss_family, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0)
		fail("UDP port %u: %s", options.udp, strerror(errno));
	close(fd);
}

static void start_stack(void)
{
	check_udp_port();
	usrsctp_init(options.udp, NULL, NULL);
	/* On loopback usrsctp leaves the checksum out; RFC 9260 §6.8 wants it everywhere. */
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	/* Strangers' packets get no ABORT: the raw sockets of a root user see those of others. */
	usrsctp_sysctl_set_sctp_blackhole(2);
	/* Keep the one address bound; do not offer those of other interfaces later. */
	usrsctp_sysctl_set_sctp_auto_asconf(0);
	usrsctp_sysctl_set_sctp_asconf_enable(0);
}

static struct socket *open_socket(void)
{
	struct sockaddr_storage address;
	socklen_t length = socket_address(&address, options.port);
	struct socket *sock =
	    usrsctp_socket(address.ss_family, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	int on = 1;

	if (sock == NULL)
		fail("socket: %s", strerror(errno));
	struct sctp_initmsg init = {
		.sinit_num_ostreams = options.streams, .sinit_max_instreams = options.streams,
	};
	set_option(sock, SCTP_INITMSG, &init, sizeof(init));
	set_option(sock, SCTP_RECVRCVINFO, &on, sizeof(on));
	struct sctp_event event = {
		.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = SCTP_ASSOC_CHANGE, .se_on = 1,
	};
	set_option(sock, SCTP_EVENT, &event, sizeof(event));
	/* The loopback interface has 64 KiB; a fixed MTU makes packets as they are on a network.
	 * usrsctp adds the headers of IP, UDP and SCTP to the size given here. */
	uint32_t headers = (address.ss_family == AF_INET6 ? 40 : 20) + 8 + 12;
	struct sctp_paddrparams path = {
		.spp_assoc_id = SCTP_FUTURE_ASSOC, .spp_pathmtu = options.mtu - headers,
		.spp_flags = SPP_PMTUD_DISABLE,
	};
	path.spp_address.ss_family = address.ss_family;
	set_option(sock, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path));
	struct sctp_udpencaps encapsulation = {
		.sue_assoc_id = SCTP_FUTURE_ASSOC, .sue_port = htons(options.peer_udp),
	};
	encapsulation.sue_address.ss_family = address.ss_family;
	if (!options.server)
		set_option(sock, SCTP_REMOTE_UDP_ENCAPS_PORT, &encapsulation, sizeof(encapsulation));
	if (usrsctp_bind(sock, (struct sockaddr *)&address, length) != 0)
		fail("bind: %s", strerror(errno));
	return sock;
}

static struct socket *establish(void)
{
	struct socket *sock = open_socket();

	if (options.server) {
		if (usrsctp_listen(sock, 1) != 0)
			fail("listen: %s", strerror(errno));
		printf("READY udp=%u sctp=%u\n", options.udp, options.port);
		fflush(stdout);
		struct socket *accepted = usrsctp_accept(sock, NULL, NULL);
		if (accepted == NULL)
			fail("accept: %s", strerror(errno));
		usrsctp_close(sock);
		return accepted;
	}
	struct sockaddr_storage peer;
	socklen_t length = socket_address(&peer, options.peer_port);
	if (usrsctp_connect(sock, (struct sockaddr *)&peer, length) != 0)
		fail("connect: %s", strerror(errno));
	return sock;
}

/* ---- data ------------------------------------------------------------------------------- */

/* False when the association ended under a peer that was expected to abort it. */
static bool send_message(struct socket *sock, const void *data, size_t size, uint64_t index,
    uint16_t flags)
{
	struct sctp_sndinfo info = {
		.snd_sid = (uint16_t)(index % options.streams),
		.snd_ppid = htonl(payload_ppid(index)),
		.snd_flags = flags,
	};
	ssize_t sent =
	    usrsctp_sendv(sock, data, size, NULL, 0, &info, sizeof(info), SCTP_SENDV_SNDINFO, 0);

	if (sent == (ssize_t)size)
		return true;
	/* An ABORT of our own leaves no association behind that could tell how much was sent. */
	if (!(flags & SCTP_ABORT) && options.expect != END_ABORT)
		fail("send of message %" PRIu64 ": %s", index, strerror(errno));
	return false;
}

static _Atomic uint64_t sent_messages;

static void *send_all(void *sock)
{
	uint8_t *message = allocate(options.size);
	uint16_t flags = options.unordered ? SCTP_UNORDERED : 0;

	for (uint64_t i = 0; i < options.send_messages; i++) {
		payload_fill(message, options.size, i);
		if (!send_message(sock, message, options.size, i, flags))
			break;
		sent_messages++;
	}
	free(message);
	return NULL;
}

/* Returns how the association ended, or END_NONE while it lives. */
static enum end on_notification(const union sctp_notification *note)
{
	if (note->sn_header.sn_type != SCTP_ASSOC_CHANGE)
		return END_NONE;
	const struct sctp_assoc_change *change = &note->sn_assoc_change;
	switch (change->sac_state) {
	case SCTP_COMM_UP:
		printf("UP out=%u in=%u\n", change->sac_outbound_streams, change->sac_inbound_streams);
		fflush(stdout);
		return END_NONE;
	case SCTP_SHUTDOWN_COMP:
		return END_SHUTDOWN;
	case SCTP_COMM_LOST:
		return END_ABORT;
	case SCTP_RESTART:
		fail("the association was restarted");
	default:
		fail("the association could not be established");
	}
}

/* Receives one whole message or notification into `buffer`. */
static size_t receive(struct socket *sock, uint8_t *buffer, size_t room,
    struct sctp_rcvinfo *info, int *flags)
{
	size_t have = 0;

	for (;;) {
		unsigned type = 0;
		socklen_t length = sizeof(*info);
		*flags = 0;
		ssize_t n = usrsctp_recvv(sock, buffer + have, room - have, NULL, NULL, info,
		    &length, &type, flags);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			fail("the association ended unannounced: %s", strerror(errno));
		have += (size_t)n;
		if (!(*flags & MSG_NOTIFICATION) && type != SCTP_RECVV_RCVINFO)
			fail("a message came without its stream number");
		if (*flags & MSG_EOR) /* a long message may come in parts */
			return have;
		if (have == room)
			fail("a message is longer than %zu bytes", room);
	}
}

/* Ends the association as asked once both directions are complete. */
static void finish(struct socket *sock)
{
	if (options.close == END_SHUTDOWN && usrsctp_shutdown(sock, SHUT_WR) != 0)
		fail("shutdown: %s", strerror(errno));
	if (options.close == END_ABORT)
		send_message(sock, ABORT_REASON, strlen(ABORT_REASON), 0, SCTP_ABORT);
}

static enum end exchange(struct socket *sock, struct received *got)
{
	size_t room = (size_t)options.size + 4096;
	uint8_t *buffer = allocate(room);
	pthread_t sender;
	bool sending = !options.server || options.duplex, finished = false;
	struct sctp_rcvinfo info;
	int flags;

	if (sending && pthread_create(&sender, NULL, send_all, sock) != 0)
		fail("no thread");
	for (;;) {
		if (!finished && got->messages == options.receive_messages) {
			finished = true;
			if (sending)
				pthread_join(sender, NULL);
			else
				send_all(sock);
			finish(sock);
			if (options.close == END_ABORT)
				return END_ABORT;
		}
		size_t size = receive(sock, buffer, room, &info, &flags);
		if (flags & MSG_NOTIFICATION) {
			enum end end = on_notification((const union sctp_notification *)buffer);
			if (end != END_NONE)
				return end;
		} else {
			verify(got, buffer, size, &info);
		}
	}
}

/* ---- command line ----------------------------------------------------------------------- */

__attribute__((noreturn))
static void usage(const char *problem)
{
	fprintf(stderr,
	    "%s\n"
	    "usage: peer server|client --udp PORT [--port PORT] [--peer-udp PORT] [--peer-port PORT]\n"
	    "  --address IP         both ends (127.0.0.1)\n"
	    "  --messages N         each way (10000); --send N, --receive N for one way\n"
	    "  --size BYTES         of each message, at least 8 (1000)\n"
	    "  --streams N          in each direction (1)\n"
	    "  --mtu BYTES          largest IP packet, at most 9000 (1500)\n"
	    "  --unordered          send and expect unordered messages\n"
	    "  --duplex             a server, too, sends from the start\n"
	    "  --close HOW          shutdown, abort or wait (client: shutdown, server: wait)\n"
	    "  --expect-abort       the peer's ABORT is the expected end, at any time\n"
	    "  --timeout SECONDS    (60)\n",
	    problem);
	exit(2);
}

/* The value of the option being parsed. */
static uint64_t number(uint64_t low, uint64_t high)
{
	char *end;

	errno = 0;
	uint64_t value = strtoull(optarg, &end, 10);
	if (*optarg == '\0' || *end != '\0' || errno != 0 || value < low || value > high)
		usage("a number is malformed or out of range");
	return value;
}

static enum end close_mode(const char *text)
{
	static const char *const names[] = { "wait", "shutdown", "abort" };

	for (int i = 0; i < 3; i++)
		if (strcmp(text, names[i]) == 0)
			return (enum end)(END_WAIT + i);
	usage("--close shutdown, abort or wait?");
}

static void parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "udp", 1, 0, 'u' }, { "port", 1, 0, 'p' }, { "peer-udp", 1, 0, 'U' },
		{ "peer-port", 1, 0, 'P' }, { "address", 1, 0, 'a' }, { "messages", 1, 0, 'm' },
		{ "send", 1, 0, 's' }, { "receive", 1, 0, 'r' }, { "size", 1, 0, 'b' },
		{ "streams", 1, 0, 'n' }, { "mtu", 1, 0, 'M' }, { "unordered", 0, 0, 'o' },
		{ "duplex", 0, 0, 'd' }, { "close", 1, 0, 'c' }, { "expect-abort", 0, 0, 'x' },
		{ "timeout", 1, 0, 't' }, { 0 },
	};
	const uint64_t most = 1u << 31;
	int name;

	if (argc < 2 || (strcmp(argv[1], "server") != 0 && strcmp(argv[1], "client") != 0))
		usage("server or client?");
	options.server = strcmp(argv[1], "server") == 0;
	options.close = options.server ? END_WAIT : END_SHUTDOWN;
	optind = 2;
	while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (name) {
		case 'u': options.udp = (uint16_t)number(1, 65535); break;
		case 'p': options.port = (uint16_t)number(1, 65535); break;
		case 'U': options.peer_udp = (uint16_t)number(1, 65535); break;
		case 'P': options.peer_port = (uint16_t)number(1, 65535); break;
		case 'a': options.address = optarg; break;
		case 'm': options.send_messages = options.receive_messages = number(0, most); break;
		case 's': options.send_messages = number(0, most); break;
		case 'r': options.receive_messages = number(0, most); break;
		case 'b': options.size = (uint32_t)number(PAYLOAD_MIN, MAX_MESSAGE); break;
		case 'n': options.streams = (uint16_t)number(1, 2048); break;
		case 'M': options.mtu = (uint32_t)number(576, 9000); break;
		case 'o': options.unordered = true; break;
		case 'd': options.duplex = true; break;
		case 'c': options.close = close_mode(optarg); break;
		case 'x': options.expect = END_ABORT; break;
		case 't': options.timeout = (unsigned)number(1, 3600); break;
		default: usage("unknown option or missing value");
		}
	}
	if (optind != argc)
		usage("too many words");
	if (options.udp == 0 || (options.server && options.port == 0) ||
	    (!options.server && (options.peer_udp == 0 || options.peer_port == 0)))
		usage("a port is missing");
}

int main(int argc, char **argv)
{
	struct received got = { 0 };

	parse(argc, argv);
	signal(SIGALRM, on_alarm);
	alarm(options.timeout); /* whatever happens, this process never hangs */
	got.next = allocate(options.streams * sizeof(*got.next));
	for (uint16_t i = 0; i < options.streams; i++)
		got.next[i] = i;
	start_stack();
	struct socket *sock = establish();
	enum end end = exchange(sock, &got);
	enum end wanted = options.close == END_ABORT ? END_ABORT : options.expect;
	if (end != wanted)
		fail("the association %s", end == END_ABORT ? "was aborted" : "was shut down");
	if (end == END_SHUTDOWN && got.messages != options.receive_messages)
		fail("shut down after %" PRIu64 " messages", got.messages);
	printf("OK received=%" PRIu64 " messages=%" PRIu64 " sum=%016" PRIx64, got.bytes,
	    got.messages, got.sum);
	printf(" sent=%" PRIu64 " end=%s\n", sent_messages * options.size,
	    end == END_ABORT ? "aborted" : "shutdown");
	fflush(stdout);
	usrsctp_close(sock);
	/* Give the stack a moment to send what it still owes (an ABORT, a SHUTDOWN COMPLETE). */
	for (int i = 0; i < 100 && usrsctp_finish() != 0; i++)
		usleep(10000);
	_exit(0);
}
