/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/*
 * The peer of ../peer.h on usrsctp over UDP encapsulation (RFC 6951); directly on IP, which takes root, without --udp.
 *
 *   peer server [--udp PORT] --port PORT [options]
 *   peer client [--udp PORT --peer-udp PORT] --peer-port PORT [options]
 *
 * Build: cc -O2 -o peer peer.c -lusrsctp -lpthread
 */

#include <sys/types.h>

#include <usrsctp.h>

typedef struct socket *peer_socket;
#define PEER_PORTS "[--udp PORT] [--port PORT] [--peer-udp PORT] [--peer-port PORT]"

#define PEER_STACK "usrsctp"
#define PEER_FEATURES "cmt, dac, nr-sack, reset, deny-changes, auth, sha-1, interleaving, asconf, auto-asconf, nat, ecn, packet-drop-reports"
#define PEER_LACKS \
	{ "zero-checksum", "no packets without a checksum (RFC 9653)" }, \
	{ "mtu-search", "no call that searches the path MTU with probes (RFC 8899)" }
/* Only within FreeBSD. */
#define PEER_SHA_256 false
#define PEER_PRIORITY SCTP_PR_SCTP_BUF
#define PEER_ASCONF SCTP_ASCONF_SUPPORTED
/* RFC 8260; usrsctp.h has no name for the first one. */
#define PEER_INTERLEAVING 0x1206
#define PEER_SCHEDULER SCTP_PLUGGABLE_SS
#define PEER_STREAM_VALUE SCTP_SS_VALUE
#define PEER_SCHEDULERS \
	{ "default", SCTP_SS_DEFAULT }, { "round-robin", SCTP_SS_ROUND_ROBIN }, \
	{ "round-robin-per-packet", SCTP_SS_ROUND_ROBIN_PACKET }, { "priority", SCTP_SS_PRIORITY }, \
	{ "fair-capacity", SCTP_SS_FAIR_BANDWITH }, { "first-come-first-served", SCTP_SS_FIRST_COME }
#define PEER_SCHEDULER_NAMES \
	"default, round-robin, round-robin-per-packet,\n" \
	"                       priority, fair-capacity, first-come-first-served"

#include "../peer.h"

static void set_option(struct socket *sock, int name, const void *value, socklen_t length)
{
	if (usrsctp_setsockopt(sock, IPPROTO_SCTP, name, value, length) != 0)
		fail("setsockopt %#x: %s", name, strerror(errno));
}

/* The first of some addresses with commas between. */
static socklen_t socket_address(struct sockaddr_storage *out, const char *list, uint16_t port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
	char text[INET6_ADDRSTRLEN] = "";

	strncat(text, list, strcspn(list, ",") < sizeof(text) ? strcspn(list, ",") : sizeof(text) - 1);

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		return sizeof(*v6);
	}
	fail("not an IP address: %s", text);
}

/* usrsctp_init says nothing when its UDP port is taken, or there is no raw socket for it, so look first. */
static void check_socket(void)
{
	struct sockaddr_storage address;
	socklen_t length = socket_address(&address, options.address, options.udp);
	int type = options.udp == 0 ? SOCK_RAW : SOCK_DGRAM;
	int fd = socket(address.ss_family, type, options.udp == 0 ? IPPROTO_SCTP : 0);

	if (fd < 0 || (options.udp != 0 && bind(fd, (struct sockaddr *)&address, length) != 0))
		fail("UDP port %u: %s", options.udp, strerror(errno));
	close(fd);
}

static void start_stack(void)
{
	check_socket();
	usrsctp_init(options.udp, NULL, NULL);
	/* Its ABORT chunks say why, as a Protocol Violation. */
	usrsctp_sysctl_set_sctp_diag_info_code(13);
	/* On loopback usrsctp leaves the checksum out; RFC 9260 §6.8 wants it everywhere. */
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	/* Strangers' packets get no ABORT: the raw sockets of a root user see those of others. */
	usrsctp_sysctl_set_sctp_blackhole(2);
	/* Unless it is asked for, keep the one address bound; do not offer those of other interfaces later. */
	usrsctp_sysctl_set_sctp_auto_asconf(with("auto-asconf"));
	usrsctp_sysctl_set_sctp_asconf_enable(with("asconf"));
	/* It knows the other end by addresses that are not its own: wildcards are taken. */
	usrsctp_sysctl_set_sctp_nat_friendly(with("nat"));
	usrsctp_sysctl_set_sctp_ecn_enable(with("ecn"));
	usrsctp_sysctl_set_sctp_cmt_on_off(with("cmt"));
	usrsctp_sysctl_set_sctp_cmt_use_dac(with("dac"));
	usrsctp_sysctl_set_sctp_nrsack_enable(with("nr-sack"));
	/* All are to wait for the scheduler at once, not 512 of them. */
	if (options.by_stream)
		usrsctp_sysctl_set_sctp_max_chunks_on_queue(1 << 16);
	usrsctp_sysctl_set_sctp_pktdrop_enable(with("packet-drop-reports"));
}

static struct socket *open_socket(void)
{
	struct sockaddr_storage address;
	socklen_t length = socket_address(&address, options.address, options.port);
	struct socket *sock =
	    usrsctp_socket(address.ss_family, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);

	if (sock == NULL)
		fail("socket: %s", strerror(errno));
	set_common_options(sock, address.ss_family);
	/* The loopback interface has 64 KiB; a fixed MTU makes packets as they are on a network.
	 * usrsctp adds the headers of IP, UDP and SCTP to the size given here. */
	uint32_t headers = (address.ss_family == AF_INET6 ? 40 : 20) + (options.udp == 0 ? 0 : 8) + 12;
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
	struct sctp_assoc_value resets = {
		.assoc_id = SCTP_FUTURE_ASSOC,
		.assoc_value = SCTP_ENABLE_VALUE_MASK,
	};
	int buffer = (int)options.send_buffer;
	if (buffer != 0 && usrsctp_setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)) != 0)
		fail("send buffer: %s", strerror(errno));
	/* More packets than that its raw socket does not take: Linux (6.18) then says that there is no such protocol. */
	int window = 64 << 10;
	if (options.udp == 0 && usrsctp_setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window)) != 0)
		fail("receive buffer: %s", strerror(errno));
	authenticate(sock);
	allow_changes(sock);
	/* It sends no message that is larger than its buffer. */
	int room = 2 * (int)largest_message() + (1 << 20);
	if (with("interleaving") && buffer == 0 &&
	    usrsctp_setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) != 0)
		fail("send buffer: %s", strerror(errno));
	interleave(sock);
	choose_scheduler(sock);
	if (with("reset"))
		set_option(sock, SCTP_ENABLE_STREAM_RESET, &resets, sizeof(resets));
	if (!options.server && options.peer_udp != 0)
		set_option(sock, SCTP_REMOTE_UDP_ENCAPS_PORT, &encapsulation, sizeof(encapsulation));
	if (usrsctp_bind(sock, (struct sockaddr *)&address, length) != 0)
		fail("bind: %s", strerror(errno));
	follow_host(sock);
	/* A port that was chosen for the first address holds for all. */
	uint16_t port = ntohs(((struct sockaddr_in *)&address)->sin_port);
	if (port == 0 && strchr(options.address, ',') != NULL)
		fail("several addresses need --port");
	for (const char *rest = strchr(options.address, ','); rest != NULL; rest = strchr(rest, ',')) {
		socket_address(&address, ++rest, port);
		if (usrsctp_bindx(sock, (struct sockaddr *)&address, 1, SCTP_BINDX_ADD_ADDR) != 0)
			fail("bindx: %s", strerror(errno));
	}
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
		value_streams(accepted);
		return accepted;
	}
	struct sockaddr_storage peer;
	socklen_t length = socket_address(&peer, options.peer, options.peer_port);
	if (usrsctp_connect(sock, (struct sockaddr *)&peer, length) != 0)
		fail("connect: %s", strerror(errno));
	value_streams(sock);
	return sock;
}

static ssize_t stack_send(peer_socket sock, const void *data, size_t size, const struct sockaddr_in *to,
    const struct sctp_sndinfo *info, const struct sctp_prinfo *policy)
{
	struct sctp_sendv_spa how = {
		.sendv_flags = SCTP_SEND_SNDINFO_VALID, .sendv_sndinfo = *info,
	};

	if (policy != NULL) {
		how.sendv_flags |= SCTP_SEND_PRINFO_VALID;
		how.sendv_prinfo = *policy;
	}
	return usrsctp_sendv(sock, data, size, (struct sockaddr *)(uintptr_t)to, to != NULL, &how, sizeof(how), SCTP_SENDV_SPA, 0);
}

static int stack_set(peer_socket sock, int option, const void *value, socklen_t length)
{
	return usrsctp_setsockopt(sock, IPPROTO_SCTP, option, value, length);
}

static int stack_bindx(peer_socket sock, struct sockaddr *address, bool add)
{
	return usrsctp_bindx(sock, address, 1, add ? SCTP_BINDX_ADD_ADDR : SCTP_BINDX_REM_ADDR);
}

static int stack_get(peer_socket sock, int option, void *value, socklen_t *length)
{
	return usrsctp_getsockopt(sock, IPPROTO_SCTP, option, value, length);
}

static ssize_t stack_receive(peer_socket sock, void *buffer, size_t room,
    struct sctp_rcvinfo *info, bool *known, int *flags)
{
	unsigned type = 0;
	socklen_t length = sizeof(*info);
	ssize_t n = usrsctp_recvv(sock, buffer, room, NULL, NULL, info, &length, &type, flags);

	*known = type == SCTP_RECVV_RCVINFO;
	return n;
}

static int stack_shutdown(peer_socket sock)
{
	return usrsctp_shutdown(sock, SHUT_WR);
}

static void stack_close(peer_socket sock)
{
	usrsctp_close(sock);
	for (int i = 0; i < 100 && usrsctp_finish() != 0; i++)
		usleep(10000);
}
