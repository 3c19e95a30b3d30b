/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/*
 * The peer of ../peer.h on the sockets of a kernel with SCTP, directly on IP, or over UDP if the
 * kernel was told so (net.sctp.udp_port, and net.sctp.encap_port or --peer-udp).
 *
 *   peer server --address IP[,IP...] --port PORT [options]
 *   peer client --address IP[,IP...] --peer IP[,IP...] --peer-port PORT [--peer-udp PORT] [options]
 *   peer agent PORT
 *
 * The agent runs in the guest and does what the test on the host asks for: each TCP connection
 * brings one line for the shell, and gets back what that prints and then `EXIT status`. It ends with
 * the first connection, which brings no line but lasts as long as the test.
 *
 * Build: cc -O2 -o peer peer.c -lsctp -lpthread
 */

#include <netinet/in.h>
#include <netinet/sctp.h>
#include <sys/wait.h>

typedef int peer_socket;
#define PEER_PORTS "[--port PORT] [--peer-port PORT] [--peer-udp PORT], or: peer agent PORT"
#define PEER_STACK "the Linux kernel"
#define PEER_FEATURES "reset, deny-changes, auth, sha-1, interleaving, asconf, auto-asconf, nat, ecn, mtu-search"
#define PEER_LACKS \
	{ "zero-checksum", "no packets without a checksum (RFC 9653)" }, \
	{ "nr-sack", "no NR-SACK chunks" }, \
	{ "packet-drop-reports", "no packet drop reports" }
#define PEER_SHA_256 true
#define PEER_PRIORITY SCTP_PR_SCTP_PRIO

/* RFC 8260, as the kernel's linux/sctp.h has it. */
#define PEER_SCHEDULER 123
#define PEER_STREAM_VALUE 124
#define PEER_SCHEDULERS \
	{ "first-come-first-served", 0 }, { "priority", 1 }, { "round-robin", 2 }, \
	{ "fair-capacity", 3 }, { "weighted-fair-queueing", 4 }
#define PEER_SCHEDULER_NAMES \
	"first-come-first-served, priority, round-robin,\n" \
	"                       since 6.4 fair-capacity, weighted-fair-queueing"
#define PEER_INTERLEAVING 125
/* RFC 5061, as well. */
#define PEER_ASCONF 128

/* The command line begins elsewhere: the agent has one of its own. */
#define main peer_main
#include "../peer.h"
#undef main

/* What a kernel with SCTP is told for all sockets. Other stacks with these sockets need not be. */
static void set_kernel(const char *name, const char *value)
{
	char path[64];
	FILE *setting;

	snprintf(path, sizeof(path), "/proc/sys/net/sctp/%s", name);
	setting = fopen(path, "w");
	if (setting == NULL && errno == ENOENT)
		return;
	if (setting == NULL || fputs(value, setting) < 0 || fclose(setting) != 0)
		fail("%s: %s", name, strerror(errno));
}

static void start_stack(void)
{
}

/* Up to four addresses of one family, one behind the other, as sctp_bindx wants them. */
static int addresses(const char *list, uint16_t port, uint8_t *out, int *family)
{
	char copy[256], *rest = copy;
	int count = 0;

	snprintf(copy, sizeof(copy), "%s", list);
	for (char *word; (word = strtok_r(rest, ",", &rest)) != NULL && count < 4; count++) {
		struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
		struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
		if (inet_pton(AF_INET, word, &v4.sin_addr) == 1) {
			memcpy(out + count * sizeof(v4), &v4, sizeof(v4));
			*family = AF_INET;
		} else if (inet_pton(AF_INET6, word, &v6.sin6_addr) == 1) {
			memcpy(out + count * sizeof(v6), &v6, sizeof(v6));
			*family = AF_INET6;
		} else {
			fail("not an IP address: %s", word);
		}
	}
	return count;
}

static void set_option(int sock, int name, const void *value, socklen_t length)
{
	if (setsockopt(sock, IPPROTO_SCTP, name, value, length) != 0)
		fail("setsockopt %d: %s", name, strerror(errno));
}

/* RFC 8899, as the kernel's linux/sctp.h has it, since 5.15. */
#define PROBE_INTERVAL 133
struct probe_interval {
	sctp_assoc_t association;
	struct sockaddr_storage address;
	uint32_t milliseconds;
};

/* The path MTU is searched, with probes this often at most: the kernel takes nothing shorter. What is too large meanwhile is sent
 * again each second, for as long as it takes. */
static void search_mtu(int sock)
{
	struct probe_interval interval = { .milliseconds = 5000 };
	struct sctp_rtoinfo timers = { .srto_initial = 1000, .srto_min = 1000, .srto_max = 1000 };
	struct sctp_assocparams patience = { .sasoc_asocmaxrxt = 100 };

	if (!with("mtu-search"))
		return;
	set_option(sock, PROBE_INTERVAL, &interval, sizeof(interval));
	set_option(sock, SCTP_RTOINFO, &timers, sizeof(timers));
	set_option(sock, SCTP_ASSOCINFO, &patience, sizeof(patience));
}

/* RFC 6951, as the kernel's linux/sctp.h has it; that of libsctp does not know it yet. */
#define REMOTE_UDP_ENCAPS_PORT 132
struct udp_encapsulation {
	sctp_assoc_t association;
	struct sockaddr_storage address;
	uint16_t port;
};

static void encapsulate(int sock, int family)
{
	struct udp_encapsulation encapsulation = { .port = htons(options.peer_udp) };

	encapsulation.address.ss_family = (sa_family_t)family;
	if (options.peer_udp != 0)
		set_option(sock, REMOTE_UDP_ENCAPS_PORT, &encapsulation, sizeof(encapsulation));
}

static void allow_resets(int sock)
{
	struct sctp_assoc_value offer = { .assoc_value = 1 };
	struct sctp_assoc_value all = {
		.assoc_value = SCTP_ENABLE_RESET_STREAM_REQ | SCTP_ENABLE_RESET_ASSOC_REQ |
		    SCTP_ENABLE_CHANGE_ASSOC_REQ,
	};

	if (with("reset") || with("deny-changes"))
		set_option(sock, SCTP_RECONFIG_SUPPORTED, &offer, sizeof(offer));
	if (with("reset"))
		set_option(sock, SCTP_ENABLE_STREAM_RESET, &all, sizeof(all));
}

/* Beyond net.core.wmem_max where that is allowed. */
static void set_send_buffer(int sock, int room)
{
	if (setsockopt(sock, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) != 0 &&
	    setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) != 0)
		fail("send buffer: %s", strerror(errno));
}

/* The kernel sends no message that is larger than its buffer, and interleaves none unless it was told so. */
static void allow_interleaving(int sock)
{
	if (!with("interleaving"))
		return;
	if (options.send_buffer == 0)
		set_send_buffer(sock, 4 * (int)largest_message() + (1 << 20));
	set_kernel("intl_enable", "1");
}

/* The kernel's number; RFC 3168 is on there unless net.sctp.ecn_enable says otherwise. */
#define ECN_SUPPORTED 130

static void allow_marks(int sock)
{
	struct sctp_assoc_value on = { .assoc_value = 1 };

	if (with("ecn"))
		set_option(sock, ECN_SUPPORTED, &on, sizeof(on));
}

static int establish(void)
{
	union {
		uint8_t bytes[4 * sizeof(struct sockaddr_in6)];
		struct sockaddr address;
	} local, remote;
	int family = AF_INET;
	int locals = addresses(options.address, options.port, local.bytes, &family);
	int sock = socket(family, SOCK_STREAM, IPPROTO_SCTP);

	if (sock < 0)
		fail("socket: %s", strerror(errno));
	set_common_options(sock, family);
	if (options.send_buffer != 0) /* The kernel doubles it. */
		set_send_buffer(sock, (int)options.send_buffer / 2);
	encapsulate(sock, family);
	search_mtu(sock);
	allow_resets(sock);
	allow_interleaving(sock);
	allow_marks(sock);
	interleave(sock);
	choose_scheduler(sock);
	authenticate(sock);
	allow_changes(sock);
	if (sctp_bindx(sock, &local.address, locals, SCTP_BINDX_ADD_ADDR) != 0)
		fail("bind: %s", strerror(errno));
	follow_host(sock);
	if (options.server) {
		if (listen(sock, 1) != 0)
			fail("listen: %s", strerror(errno));
		printf("READY sctp=%u\n", options.port);
		fflush(stdout);
		int accepted = accept(sock, NULL, NULL);
		if (accepted < 0)
			fail("accept: %s", strerror(errno));
		/* The listening socket goes on to own the port, so that nothing is out of the blue; but what the
		 * association gives up it would keep others from taking again. */
		if (with("asconf"))
			close(sock);
		/* The kernel asks the endpoint of this socket, which inherits nothing of that. */
		allow_changes(accepted);
		follow_host(accepted);
		value_streams(accepted);
		return accepted;
	}
	int remotes = addresses(options.peer, options.peer_port, remote.bytes, &family);
	if (sctp_connectx(sock, &remote.address, remotes, NULL) != 0)
		fail("connect: %s", strerror(errno));
	value_streams(sock);
	return sock;
}

static ssize_t stack_send(peer_socket sock, const void *data, size_t size, const struct sockaddr_in *to,
    const struct sctp_sndinfo *info, const struct sctp_prinfo *policy)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)data, .iov_len = size };
	struct sctp_sendv_spa how = {
		.sendv_flags = SCTP_SEND_SNDINFO_VALID, .sendv_sndinfo = *info,
	};

	if (info->snd_flags & SCTP_ABORT) {
		/* The kernel takes no reason of the user on a socket of this style. */
		struct linger now = { .l_onoff = 1, .l_linger = 0 };
		setsockopt(sock, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		return close(sock);
	}
	if (policy != NULL) {
		how.sendv_flags |= SCTP_SEND_PRINFO_VALID;
		how.sendv_prinfo = *policy;
	}
	return sctp_sendv(sock, &part, 1, (struct sockaddr *)(uintptr_t)to, to != NULL, &how, sizeof(how), SCTP_SENDV_SPA, 0);
}

static int stack_set(peer_socket sock, int option, const void *value, socklen_t length)
{
	return setsockopt(sock, IPPROTO_SCTP, option, value, length);
}

static int stack_bindx(peer_socket sock, struct sockaddr *address, bool add)
{
	return sctp_bindx(sock, address, 1, add ? SCTP_BINDX_ADD_ADDR : SCTP_BINDX_REM_ADDR);
}

static int stack_get(peer_socket sock, int option, void *value, socklen_t *length)
{
	return getsockopt(sock, IPPROTO_SCTP, option, value, length);
}

static ssize_t stack_receive(peer_socket sock, void *buffer, size_t room,
    struct sctp_rcvinfo *info, bool *known, int *flags)
{
	struct iovec part = { .iov_base = buffer, .iov_len = room };
	unsigned type = 0;
	socklen_t length = sizeof(*info);
	ssize_t n = sctp_recvv(sock, &part, 1, NULL, NULL, info, &length, &type, flags);

	*known = type == SCTP_RECVV_RCVINFO;
	if (n == 0) {
		/* The kernel announces the end of a shutdown as the end of the stream. */
		struct sctp_assoc_change change = {
			.sac_type = SCTP_ASSOC_CHANGE, .sac_state = SCTP_SHUTDOWN_COMP,
		};
		memcpy(buffer, &change, sizeof(change));
		*flags = MSG_NOTIFICATION | MSG_EOR;
		return sizeof(change);
	}
	return n;
}

static int stack_shutdown(peer_socket sock)
{
	return shutdown(sock, SHUT_WR);
}

static void stack_close(peer_socket sock)
{
	close(sock);
}

/* ---- agent ------------------------------------------------------------------------------ */

/* Reads one line; false at the end of the connection. */
static bool read_line(int connection, char *line, size_t room)
{
	size_t have = 0;

	while (have + 1 < room && read(connection, line + have, 1) == 1) {
		if (line[have] == '\n') {
			line[have] = '\0';
			return true;
		}
		have++;
	}
	return false;
}

static void serve(int connection)
{
	char line[4096];

	if (!read_line(connection, line, sizeof(line)))
		return;
	pid_t child = fork();
	if (child == 0) {
		dup2(connection, STDOUT_FILENO);
		dup2(connection, STDERR_FILENO);
		execl("/bin/bash", "bash", "-c", line, (char *)NULL);
		_exit(127);
	}
	int status = 0;
	waitpid(child, &status, 0);
	dprintf(connection, "EXIT %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

static int agent(uint16_t port)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
	int sock = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	char end;

	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(sock, (struct sockaddr *)&any, sizeof(any)) != 0 || listen(sock, 16) != 0)
		fail("agent: %s", strerror(errno));
	puts("READY agent");
	fflush(stdout);
	int keeper = accept(sock, NULL, NULL);
	if (fork() == 0) {
		for (int connection; (connection = accept(sock, NULL, NULL)) >= 0; close(connection)) {
			if (fork() == 0) {
				serve(connection);
				_exit(0);
			}
		}
		_exit(1);
	}
	while (read(keeper, &end, 1) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "agent") == 0)
		return agent((uint16_t)atoi(argv[2]));
	return peer_main(argc, argv);
}
