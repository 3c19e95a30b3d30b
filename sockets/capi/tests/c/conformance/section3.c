/* What was found wrong once: on real hosts, by other suites and by real programs. */
#include "suite.h"
#include <netinet/ip.h>
#include <sys/sendfile.h>

/* A message above the fragmentation point is refused, and nothing is lost silently. */
EACH(disable_fragments_emsgsize, all_kinds)
{
	struct pair pair = paired(row->kind);
	static char large[60000];
	WORKS(set_int(pair.client, IPPROTO_SCTP, SCTP_DISABLE_FRAGMENTS, 1));
	struct sctp_assoc_value most = { .assoc_id = pair.client_id, .assoc_value = 1000 };
	WORKS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_MAXSEG, &most, sizeof most));
	memset(large, 'x', sizeof large - 1);
	FAILS(say(&pair, true, large), EMSGSIZE);
	CHECK(say(&pair, true, "small") == 5);
	ARRIVES(pair.server, "small");
}

CASE(accept_swallows_no_message)
{
	struct pair pair = paired(ONE);
	SENDS(pair.client, "first");
	SENDS(pair.client, "second");
	CHECK(wait_for(pair.server, POLLIN) & POLLIN);
	FAILS(accept(pair.server, NULL, NULL), EINVAL);
	ARRIVES(pair.server, "first");
	ARRIVES(pair.server, "second");
}

//= RFC 6458 9.12-3
/* RFC 6458 §9.12: several addresses belong to one peer, and an association to be set up. */
CASE(sendv_to_several_addresses)
{
	int server = new_socket(MANY), client = new_socket(MANY);
	struct sockaddr_in both[2];
	struct iovec iov = { "hello", 5 };
	address(&both[0], "127.0.0.1", 0);
	WORKS(sctp_bindx(server, (struct sockaddr *)both, 1, SCTP_BINDX_ADD_ADDR));
	address(&both[0], "127.0.0.1", port(server));
	address(&both[1], "127.0.0.2", port(server));
	WORKS(sctp_bindx(server, (struct sockaddr *)&both[1], 1, SCTP_BINDX_ADD_ADDR));
	WORKS(listen(server, 5));
	SAME(sctp_sendv(client, &iov, 1, (struct sockaddr *)both, 2, NULL, 0, SCTP_SENDV_NOINFO, 0), 5);
	ARRIVES(server, "hello");
}

CASE(sendfile_is_served_or_refused)
{
	struct pair pair = paired(ONE);
	int file = open("/proc/self/exe", O_RDONLY);
	char bytes[100];
	CHECK(file >= 0);
	CHECK(pread(file, bytes, sizeof bytes, 0) == sizeof bytes);
	ssize_t sent = sendfile(pair.client, file, NULL, sizeof bytes);
	if (sent < 0) {
		SENDS(pair.client, "intact");
		ARRIVES(pair.server, "intact");
	} else {
		struct message *got = receive(pair.server, 0);
		SAME(got->len, sent);
		CHECK(memcmp(got->data, bytes, sent) == 0);
	}
}

CASE(dprintf_is_served_or_refused)
{
	struct pair pair = paired(ONE);
	int said = dprintf(pair.client, "%s", "printed");
	if (said < 0) {
		SENDS(pair.client, "intact");
		ARRIVES(pair.server, "intact");
	} else {
		ARRIVES(pair.server, "printed");
	}
}

CASE(pwritev_is_refused)
{
	struct pair pair = paired(ONE);
	struct iovec iov = { "bytes", 5 };
	FAILS(pwritev(pair.client, &iov, 1, 0), ESPIPE);
	FAILS(pwrite(pair.client, "bytes", 5, 0), ESPIPE);
	SENDS(pair.client, "intact");
	ARRIVES(pair.server, "intact");
}

CASE(pread_is_refused)
{
	struct pair pair = paired(ONE);
	char byte;
	struct iovec iov = { &byte, 1 };
	SENDS(pair.client, "intact");
	CHECK(wait_for(pair.server, POLLIN) & POLLIN);
	FAILS(pread(pair.server, &byte, 1, 0), ESPIPE);
	FAILS(preadv(pair.server, &iov, 1, 0), ESPIPE);
	ARRIVES(pair.server, "intact");
}

//= RFC 6458 6.1-1
CASE(write_after_the_peers_shutdown)
{
	struct pair pair = paired(ONE);
	WORKS(shutdown(pair.server, SHUT_WR));
	SAME(receive(pair.client, 0)->len, 0);
	FAILS(send(pair.client, "late", 4, MSG_NOSIGNAL), EPIPE);
}

CASE(write_after_the_peers_close)
{
	struct pair pair = paired(ONE);
	close(pair.server);
	SAME(receive(pair.client, 0)->len, 0);
	FAILS(send(pair.client, "late", 4, MSG_NOSIGNAL), EPIPE);
}

CASE(many_receive_without_association)
{
	int fd = bound(MANY);
	patience(fd, SO_RCVTIMEO, 60);
	FAILS(receive(fd, 0)->len, ENOTCONN);
}

CASE(many_receive_on_a_listener_without_association)
{
	int fd = listening(MANY);
	patience(fd, SO_RCVTIMEO, 60);
	FAILS(receive(fd, 0)->len, EAGAIN);
}

CASE(many_connect_waits)
{
	int server = listening(MANY), client = bound(MANY);
	WORKS(dial(client, port(server)));
	struct sctp_status status = { .sstat_assoc_id = 0 };
	struct sctp_assoc_ids *ids = calloc(1, 100);
	socklen_t len = 100;
	WORKS(getsockopt(client, IPPROTO_SCTP, SCTP_GET_ASSOC_ID_LIST, ids, &len));
	SAME(ids->gaids_number_of_ids, 1);
	status.sstat_assoc_id = ids->gaids_assoc_id[0];
	len = sizeof status;
	WORKS(getsockopt(client, IPPROTO_SCTP, SCTP_STATUS, &status, &len));
	SAME(status.sstat_state, SCTP_ESTABLISHED);
}

CASE(many_shutdown_read)
{
	struct pair pair = paired(MANY);
	FAILS(shutdown(pair.client, SHUT_RD), ENOTCONN);
}

CASE(many_shutdown_write)
{
	struct pair pair = paired(MANY);
	FAILS(shutdown(pair.client, SHUT_WR), ENOTCONN);
}

/* Linux has ENOTCONN where others have the end, 0, since nothing can come any more. */
CASE(receive_after_shutdown_write)
{
	struct pair pair = paired(ONE);
	SENDS(pair.server, "on its way");
	CHECK(wait_for(pair.client, POLLIN) & POLLIN);
	WORKS(shutdown(pair.client, SHUT_WR));
	ARRIVES(pair.client, "on its way");
	FAILS(receive(pair.client, 0)->len, ENOTCONN);
}

EACH(success_leaves_errno_alone, both_kinds)
{
	struct pair pair = paired(row->kind);
	char buffer[10];
	errno = EXDEV;
	CHECK(say(&pair, true, "hello") == 5);
	SAME((say(&pair, true, "x"), errno = EXDEV, recv(pair.server, buffer, 10, 0), errno), EXDEV);
	SAME((errno = EXDEV, say(&pair, false, "x"), errno), EXDEV);
}

CASE(comm_lost_has_the_abort)
{
	struct pair pair = paired(MANY);
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	WORKS(end_with(pair.client, pair.client_id, SCTP_ABORT));
	struct sctp_assoc_change *change = CHANGED(pair.server, SCTP_COMM_LOST);
	CHECK(change->sac_length > sizeof *change);
	/* RFC 6458 §6.1.1 has the whole chunk; Linux leaves its header out: a user-initiated abort. */
	SAME(change->sac_info[0] << 8 | change->sac_info[1], 12);
}

CASE(sinfo_flags_are_not_message_flags)
{
	struct pair pair = paired(ONE);
	struct sctp_sndinfo info = { .snd_flags = SCTP_UNORDERED };
	CHECK(send_with(pair.client, "free", SCTP_SNDINFO, &info, sizeof info) == 4);
	struct message *got = receive(pair.server, 0);
	SAME(got->len, 4);
	SAME(got->flags & ~MSG_EOR, 0);
}

CASE(out_of_band_is_not_unordered)
{
	struct pair pair = paired(ONE);
	FAILS(send(pair.client, "x", 1, MSG_OOB | MSG_NOSIGNAL), 0);
	set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1);
	struct message *got = receive(pair.server, 0);
	SAME(got->len, 1);
	SAME(got->rcv.rcv_flags, 0);
}

static const struct setting {
	const char *label;
	int level, option, value;
} settings[] = {
	{ "keepalive", SOL_SOCKET, SO_KEEPALIVE, 1 },   { "tos", IPPROTO_IP, IP_TOS, 0x20 },
	{ "ttl", IPPROTO_IP, IP_TTL, 17 },              { "priority", SOL_SOCKET, SO_PRIORITY, 4 },
	{ "oobinline", SOL_SOCKET, SO_OOBINLINE, 1 },   { "dontroute", SOL_SOCKET, SO_DONTROUTE, 1 },
	{ "broadcast", SOL_SOCKET, SO_BROADCAST, 1 },   { "rcvlowat", SOL_SOCKET, SO_RCVLOWAT, 7 },
	{ "reuseaddr", SOL_SOCKET, SO_REUSEADDR, 1 },   { "reuseport", SOL_SOCKET, SO_REUSEPORT, 1 },
	{ "timestamp", SOL_SOCKET, SO_TIMESTAMP, 1 },   { "mark", SOL_SOCKET, SO_MARK, 3 },
	{ "freebind", IPPROTO_IP, IP_FREEBIND, 1 },
};

EACH(setting_reads_back, settings)
{
	int fd = new_socket(ONE);
	SAME(get_int(fd, row->level, row->option) == row->value, 0);
	WORKS(set_int(fd, row->level, row->option, row->value));
	SAME(get_int(fd, row->level, row->option), row->value);
}

static const struct unknown {
	const char *label;
	int level, option, set, get;
} unknowns[] = {
	{ "level", 4242, 1, ENOPROTOOPT, EOPNOTSUPP },
	{ "level_tcp", IPPROTO_TCP, 1, ENOPROTOOPT, EOPNOTSUPP },
	{ "level_udp", IPPROTO_UDP, 1, ENOPROTOOPT, EOPNOTSUPP },
	{ "socket_option", SOL_SOCKET, 4242, ENOPROTOOPT, ENOPROTOOPT },
	{ "sctp_option", IPPROTO_SCTP, 4242, ENOPROTOOPT, ENOPROTOOPT },
	{ "negative_sctp_option", IPPROTO_SCTP, -1, ENOPROTOOPT, ENOPROTOOPT },
	{ "ip_option", IPPROTO_IP, 4242, ENOPROTOOPT, ENOPROTOOPT },
	{ "ipv6_option_on_v4", IPPROTO_IPV6, IPV6_V6ONLY, ENOPROTOOPT, EOPNOTSUPP },
};

EACH(unknown_option, unknowns)
{
	int fd = new_socket(ONE), value = 0;
	socklen_t len = sizeof value;
	FAILS(set_int(fd, row->level, row->option, 1), row->set);
	FAILS(getsockopt(fd, row->level, row->option, &value, &len), row->get);
}

CASE(smallest_buffers)
{
	int fd = new_socket(ONE);
	WORKS(set_int(fd, SOL_SOCKET, SO_RCVBUF, 1));
	WORKS(set_int(fd, SOL_SOCKET, SO_SNDBUF, 1));
	SAME(get_int(fd, SOL_SOCKET, SO_RCVBUF), 2304);
	SAME(get_int(fd, SOL_SOCKET, SO_SNDBUF), 4608);
}

EACH(delayed_ack_of_8_bytes, all_kinds)
{
	struct pair pair = paired(row->kind);
	struct sctp_assoc_value value = { .assoc_id = pair.client_id, .assoc_value = 150 };
	struct sctp_sack_info info = { .sack_assoc_id = pair.client_id };
	socklen_t len = sizeof info;
	WORKS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_DELAYED_SACK, &value, sizeof value));
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_DELAYED_SACK, &info, &len));
	SAME(info.sack_delay, 150);
	len = sizeof value;
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_DELAYED_SACK, &value, &len));
	SAME(value.assoc_value, 150);
	value.assoc_value = 0;
	WORKS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_DELAYED_SACK, &value, sizeof value));
	len = sizeof value;
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_DELAYED_SACK, &value, &len));
	SAME(value.assoc_value, 0);
}

/* "spp_sackdelay [...] if this field is set to zero, no change is made", and SPP_SACKDELAY_ENABLE has them delayed again. */
EACH(sacks_that_are_delayed_again, all_kinds)
{
	struct pair pair = paired(row->kind);
	struct sctp_paddrparams params = { .spp_assoc_id = pair.client_id };
	struct sctp_sack_info info = { .sack_assoc_id = pair.client_id };
	socklen_t len = sizeof info;
	params.spp_flags = SPP_SACKDELAY_DISABLE;
	WORKS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &params, sizeof params));
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_DELAYED_SACK, &info, &len));
	SAME(info.sack_delay, 0);
	params.spp_flags = SPP_SACKDELAY_ENABLE;
	WORKS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &params, sizeof params));
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_DELAYED_SACK, &info, &len));
	SAME(info.sack_delay, 200);
}

//= RFC 6458 7.1-1
CASE(default_send_param_of_an_association)
{
	struct pair pair = paired(MANY);
	struct pair other = { .client = pair.client, .listener = listening(MANY) };
	struct sctp_sndrcvinfo how = { .sinfo_stream = 3,
				       .sinfo_ppid = 77,
				       .sinfo_assoc_id = pair.client_id };
	WORKS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_DEFAULT_SEND_PARAM, &how, sizeof how));
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	WORKS(set_int(other.listener, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	socklen_t len;
	struct sockaddr *to = server_address(&pair, &len);
	SAME(sendto(pair.client, "a", 1, 0, to, len), 1);
	struct message *got = receive(pair.server, 0);
	SAME(got->rcv.rcv_sid, 3);
	SAME(got->rcv.rcv_ppid, 77);
	to = server_address(&other, &len);
	SAME(sendto(pair.client, "b", 1, 0, to, len), 1);
	got = receive(other.listener, 0);
	SAME(got->rcv.rcv_sid, 0);
	SAME(got->rcv.rcv_ppid, 0);
}

CASE(send_to_an_unknown_association)
{
	struct pair pair = paired(MANY);
	struct sctp_sndinfo info = { .snd_assoc_id = pair.client_id + 1000 };
	FAILS(send_with(pair.client, "x", SCTP_SNDINFO, &info, sizeof info), EPIPE);
}

/* Unread data is bounded by the receive buffer, not by what lies between. */
CASE(receive_buffer_bounds_unread_data)
{
	struct pair pair = { .listener = listening(ONE), .client = bound(ONE) };
	static char block[1000];
	long sent = 0;
	WORKS(set_int(pair.listener, SOL_SOCKET, SO_RCVBUF, 4096));
	WORKS(set_int(pair.client, SOL_SOCKET, SO_SNDBUF, 4096));
	WORKS(dial(pair.client, port(pair.listener)));
	nonblocking(pair.client);
	for (int waits = 0; waits < 3 && sent < 1000000;) {
		if (send(pair.client, block, sizeof block, MSG_NOSIGNAL) > 0) {
			sent += sizeof block;
			waits = 0;
		} else {
			struct timespec rest = { .tv_nsec = 30000000 };
			nanosleep(&rest, NULL);
			waits++;
		}
	}
	CHECK(sent >= 1000);
	CHECK(sent <= 40000);
}

CASE(connect_obeys_the_send_timeout)
{
	struct sockaddr_in to;
	socklen_t len = address(&to, "127.0.0.1", 9);
	int fd = new_socket(ONE), silent = socket(AF_INET, SOCK_RAW, IPPROTO_SCTP);
	(void)silent;
	/* Documentation addresses answer nothing: an error or the time, but soon. */
	address(&to, "192.0.2.77", 9);
	patience(fd, SO_SNDTIMEO, 100);
	long long before = clock_ms();
	CHECK(connect(fd, (struct sockaddr *)&to, len) == -1);
	CHECK(clock_ms() - before < 900);
}

CASE(shutdown_of_a_listener)
{
	int fd = listening(ONE);
	FAILS(shutdown(fd, SHUT_WR), 0);
	FAILS(shutdown(fd, SHUT_RD), EOPNOTSUPP);
	FAILS(shutdown(fd, 7), EINVAL);
}

CASE(poll_after_the_peers_close)
{
	struct pair pair = paired(ONE);
	close(pair.server);
	CHECK(wait_for(pair.client, POLLIN) & POLLIN);
	SAME(receive(pair.client, 0)->len, 0);
	SAME(now(pair.client, POLLIN | POLLOUT | POLLRDHUP), POLLIN | POLLOUT | POLLRDHUP);
}

CASE(poll_after_the_peers_shutdown)
{
	struct pair pair = paired(ONE);
	WORKS(shutdown(pair.server, SHUT_WR));
	SAME(receive(pair.client, 0)->len, 0);
	CHECK((now(pair.client, POLLIN | POLLRDHUP) & (POLLIN | POLLRDHUP)) ==
	      (POLLIN | POLLRDHUP));
}

CASE(poll_after_the_peers_abort)
{
	struct pair pair = paired(ONE);
	struct linger at_once = { 1, 0 };
	WORKS(setsockopt(pair.server, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
	close(pair.server);
	CHECK(wait_for(pair.client, POLLIN) & POLLERR);
	SAME(now(pair.client, POLLIN | POLLOUT | POLLRDHUP), POLLOUT | POLLERR);
	SAME(get_int(pair.client, SOL_SOCKET, SO_ERROR), ECONNRESET);
}

CASE(shutdown_comp_comes_before_the_end)
{
	struct pair pair = paired(ONE);
	WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, true));
	close(pair.server);
	CHANGED(pair.client, SCTP_SHUTDOWN_COMP);
	SAME(receive(pair.client, 0)->len, 0);
}

//= RFC 6458 5.3.1-3
CASE(max_init_timeo_is_not_the_initial_rto)
{
	int fd = new_socket(ONE);
	struct sctp_initmsg init = { .sinit_max_init_timeo = 7000 };
	struct sctp_rtoinfo before = { 0 }, after = { 0 };
	socklen_t len = sizeof before;
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &before, &len));
	WORKS(setsockopt(fd, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init));
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &after, &len));
	SAME(after.srto_initial, before.srto_initial);
}

CASE(cumtsn_is_the_cumulative_tsn)
{
	struct pair pair = paired(ONE);
	struct sctp_sndinfo info = { .snd_flags = SCTP_UNORDERED };
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	for (int n = 0; n < 3; n++)
		CHECK(send_with(pair.client, "x", SCTP_SNDINFO, &info, sizeof info) == 1);
	uint32_t first = receive(pair.server, 0)->rcv.rcv_tsn;
	receive(pair.server, 0);
	struct message *got = receive(pair.server, 0);
	SAME(got->rcv.rcv_tsn, first + 2);
	/* RFC 6458 §5.3.5: valid for unordered messages. */
	SAME(got->rcv.rcv_cumtsn, first + 2);
}

EACH(association_id_in_rcvinfo, both_kinds)
{
	struct pair pair = paired(row->kind);
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	say(&pair, true, "x");
	struct message *got = receive(pair.server, 0);
	CHECK(got->has_rcv);
	CHECK(row->kind == ONE ? got->rcv.rcv_assoc_id != 0 :
				 got->rcv.rcv_assoc_id == pair.server_id);
}

EACH(maxseg_of_an_association, all_kinds)
{
	struct pair pair = paired(row->kind);
	struct sctp_assoc_value value = { .assoc_id = pair.client_id };
	socklen_t len = sizeof value;
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_MAXSEG, &value, &len));
	CHECK(value.assoc_value > 500 && value.assoc_value <= 65535);
}

/* Asked of an association that is there, it is where messages are cut from then on. */
EACH(maxseg_changes_an_association, all_kinds)
{
	struct pair pair = paired(row->kind);
	struct sctp_assoc_value value = { .assoc_id = pair.client_id, .assoc_value = 1000 };
	socklen_t len = sizeof value;
	WORKS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_MAXSEG, &value, sizeof value));
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_MAXSEG, &value, &len));
	SAME(value.assoc_value, 1000);
}

EACH(pmtud_is_reported, all_kinds)
{
	struct pair pair = paired(row->kind);
	struct sctp_paddrparams params = { .spp_assoc_id = pair.client_id };
	socklen_t len = sizeof params;
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &params, &len));
	CHECK(params.spp_flags & SPP_PMTUD_ENABLE);
	CHECK(!(params.spp_flags & SPP_PMTUD_DISABLE));
	CHECK(params.spp_flags & SPP_HB_ENABLE);
	CHECK(params.spp_flags & SPP_SACKDELAY_ENABLE);
}

CASE(backlog_overflow_then_connect_again)
{
	int listener = bound(ONE), fd = -1;
	WORKS(listen(listener, 1));
	for (int n = 0; n < 5; n++) {
		fd = new_socket(ONE);
		int result = dial(fd, port(listener)), number = errno;
		if (result != 0) {
			SAME(number, ECONNREFUSED);
			while (n-- > 0)
				CHECK(accept(listener, NULL, NULL) >= 0);
			WORKS(dial(fd, port(listener)));
			CHECK(accept(listener, NULL, NULL) >= 0);
			return;
		}
	}
	CHECK(!"the backlog is bounded");
}

EACH(connect_to_the_v6_loopback_unbound, both_kinds)
{
	family = AF_INET6;
	WORKS(dial(new_socket(row->kind), port(listening(row->kind))));
}
