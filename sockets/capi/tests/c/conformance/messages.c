/* Sending and receiving: every call of both kinds, ancillary data, flags, sizes, streams, order. */
#include "suite.h"
#include <signal.h>

static char large[300000];

/* Calls that send "call" to a connected socket, and receive it. */
enum call { SEND, SENDTO, SENDMSG, WRITE, WRITEV, SCTP_SEND_, SCTP_SENDMSG_, SCTP_SENDV_, SENDMMSG };
enum taking { RECV, RECVFROM, RECVMSG, READ, READV, SCTP_RECVMSG_, SCTP_RECVV_, RECVMMSG };

static const struct sender {
	const char *label;
	enum call call;
} senders[] = {
	{ "send", SEND },           { "sendto", SENDTO },
	{ "sendmsg", SENDMSG },     { "write", WRITE },
	{ "writev", WRITEV },       { "sctp_send", SCTP_SEND_ },
	{ "sctp_sendmsg", SCTP_SENDMSG_ }, { "sctp_sendv", SCTP_SENDV_ },
	{ "sendmmsg", SENDMMSG },
};

static ssize_t send_by(enum call call, int fd)
{
	struct iovec parts[2] = { { "ca", 2 }, { "ll", 2 } };
	struct mmsghdr header = { .msg_hdr = { .msg_iov = parts, .msg_iovlen = 2 } };
	struct sctp_sndrcvinfo info = { .sinfo_stream = 0 };
	switch (call) {
	case SEND:
		return send(fd, "call", 4, MSG_NOSIGNAL);
	case SENDTO:
		return sendto(fd, "call", 4, MSG_NOSIGNAL, NULL, 0);
	case SENDMSG:
		return sendmsg(fd, &header.msg_hdr, MSG_NOSIGNAL);
	case WRITE:
		return write(fd, "call", 4);
	case WRITEV:
		return writev(fd, parts, 2);
	case SCTP_SEND_:
		return sctp_send(fd, "call", 4, &info, MSG_NOSIGNAL);
	case SCTP_SENDMSG_:
		return sctp_sendmsg(fd, "call", 4, NULL, 0, 0, 0, 0, 0, 0);
	case SCTP_SENDV_:
		return sctp_sendv(fd, parts, 2, NULL, 0, NULL, 0, SCTP_SENDV_NOINFO, 0);
	case SENDMMSG:
		return sendmmsg(fd, &header, 1, MSG_NOSIGNAL) == 1 ? (ssize_t)header.msg_len : -1;
	}
	return -1;
}

EACH(sent_by, senders)
{
	struct pair pair = paired(ONE);
	SAME(send_by(row->call, pair.client), 4);
	ARRIVES(pair.server, "call");
	/* And on a peeled-off socket. */
	pair = paired(PEELED);
	SAME(send_by(row->call, pair.client), 4);
	ARRIVES(pair.server, "call");
}

EACH(not_sent_without_association_by, senders)
{
	signal(SIGPIPE, SIG_IGN);
	FAILS(send_by(row->call, new_socket(ONE)), EPIPE);
}

EACH(not_sent_by_a_listener_by, senders)
{
	signal(SIGPIPE, SIG_IGN);
	FAILS(send_by(row->call, listening(ONE)), EPIPE);
}

EACH(not_sent_without_destination_by, senders)
{
	struct pair pair = paired(MANY);
	signal(SIGPIPE, SIG_IGN);
	FAILS(send_by(row->call, pair.client), EPIPE);
}

EACH(not_sent_after_shutdown_by, senders)
{
	struct pair pair = paired(ONE);
	signal(SIGPIPE, SIG_IGN);
	WORKS(shutdown(pair.client, SHUT_WR));
	/* Until the association is down, the kernel says ESHUTDOWN. */
	SAME(receive(pair.server, 0)->len, 0);
	FAILS(send_by(row->call, pair.client), EPIPE);
}

static const struct receiver {
	const char *label;
	enum taking call;
} receivers[] = {
	{ "recv", RECV },       { "recvfrom", RECVFROM },           { "recvmsg", RECVMSG },
	{ "read", READ },       { "readv", READV },                 { "sctp_recvmsg", SCTP_RECVMSG_ },
	{ "sctp_recvv", SCTP_RECVV_ }, { "recvmmsg", RECVMMSG },
};

static ssize_t receive_by(enum taking call, int fd, char *into, size_t size)
{
	struct iovec parts[2] = { { into, 1 }, { into + 1, size - 1 } };
	struct mmsghdr header = { .msg_hdr = { .msg_iov = parts, .msg_iovlen = 2 } };
	struct sockaddr_storage from;
	socklen_t len = sizeof from, info_len = 0;
	unsigned type;
	int flags = 0;
	switch (call) {
	case RECV:
		return recv(fd, into, size, 0);
	case RECVFROM:
		return recvfrom(fd, into, size, 0, (struct sockaddr *)&from, &len);
	case RECVMSG:
		return recvmsg(fd, &header.msg_hdr, 0);
	case READ:
		return read(fd, into, size);
	case READV:
		return readv(fd, parts, 2);
	case SCTP_RECVMSG_:
		return sctp_recvmsg(fd, into, size, (struct sockaddr *)&from, &len, NULL, &flags);
	case SCTP_RECVV_:
		return sctp_recvv(fd, parts, 2, (struct sockaddr *)&from, &len, NULL, &info_len,
				  &type, &flags);
	case RECVMMSG:
		return recvmmsg(fd, &header, 1, 0, NULL) == 1 ? (ssize_t)header.msg_len : -1;
	}
	return -1;
}

EACH(received_by, receivers)
{
	struct pair pair = paired(ONE);
	char into[100];
	SENDS(pair.client, "call");
	SAME(receive_by(row->call, pair.server, into, sizeof into), 4);
	CHECK(memcmp(into, "call", 4) == 0);
}

EACH(rest_received_by, receivers)
{
	struct pair pair = paired(ONE);
	char into[3];
	SENDS(pair.client, "call");
	SAME(receive_by(row->call, pair.server, into, sizeof into), 3);
	CHECK(memcmp(into, "cal", 3) == 0);
	SAME(receive_by(row->call, pair.server, into, sizeof into), 1);
	CHECK(into[0] == 'l');
}

EACH(end_received_by, receivers)
{
	struct pair pair = paired(ONE);
	char into[3];
	close(pair.client);
	SAME(receive_by(row->call, pair.server, into, sizeof into), 0);
	SAME(receive_by(row->call, pair.server, into, sizeof into), 0);
}

EACH(not_received_without_association_by, receivers)
{
	char into[3];
	FAILS(receive_by(row->call, new_socket(ONE), into, sizeof into), ENOTCONN);
}

EACH(not_received_by_a_listener_by, receivers)
{
	char into[3];
	FAILS(receive_by(row->call, listening(ONE), into, sizeof into), ENOTCONN);
}

EACH(not_received_at_once_by, receivers)
{
	struct pair pair = paired(ONE);
	char into[3];
	nonblocking(pair.server);
	FAILS(receive_by(row->call, pair.server, into, sizeof into), EAGAIN);
}

EACH(not_received_in_time_by, receivers)
{
	struct pair pair = paired(ONE);
	char into[3];
	long long before = clock_ms();
	patience(pair.server, SO_RCVTIMEO, 60);
	FAILS(receive_by(row->call, pair.server, into, sizeof into), EAGAIN);
	CHECK(clock_ms() - before >= 50);
}

static void abort_it(int fd)
{
	struct linger at_once = { 1, 0 };
	WORKS(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
	close(fd);
}

EACH(abort_received_by, receivers)
{
	struct pair pair = paired(ONE);
	char into[3];
	abort_it(pair.client);
	FAILS(receive_by(row->call, pair.server, into, sizeof into), ECONNRESET);
}

static const struct size {
	const char *label;
	size_t size;
} sizes[] = {
	{ "1", 1 },         { "1000", 1000 },   { "1452", 1452 },
	{ "1453", 1453 },   { "9000", 9000 },   { "60000", 60000 },
	{ "66000", 66000 }, { "100000", 100000 },
};

EACH(message_of_size, sizes)
{
	struct pair pair = paired(ONE);
	static char got[300000];
	size_t len = 0;
	for (size_t n = 0; n < row->size; n++)
		large[n] = (char)(n * 7 + n / 251);
	WORKS(set_int(pair.client, SOL_SOCKET, SO_SNDBUF, 200000));
	SAME(send(pair.client, large, row->size, 0), row->size);
	while (len < row->size) {
		struct iovec iov = { got + len, sizeof got - len };
		struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t part = recvmsg(pair.server, &header, 0);
		CHECK(part > 0);
		len += part;
		SAME(!!(header.msg_flags & MSG_EOR), len == row->size);
	}
	SAME(len, row->size);
	CHECK(memcmp(got, large, len) == 0);
}

//= RFC 6458 7.1-2
EACH(empty_message, all_kinds)
{
	struct pair pair = paired(row->kind);
	FAILS(say(&pair, true, ""), EINVAL);
}

CASE(message_larger_than_the_buffer)
{
	struct pair pair = paired(ONE);
	WORKS(set_int(pair.client, SOL_SOCKET, SO_SNDBUF, 10000));
	FAILS(send(pair.client, large, 250000, 0), EMSGSIZE);
	SENDS(pair.client, "intact");
	ARRIVES(pair.server, "intact");
}

CASE(messages_are_not_joined)
{
	struct pair pair = paired(ONE);
	SENDS(pair.client, "one");
	SENDS(pair.client, "three");
	CHECK(wait_for(pair.server, POLLIN) & POLLIN);
	ARRIVES(pair.server, "one");
	ARRIVES(pair.server, "three");
}

CASE(eor_is_set_at_the_end_only)
{
	struct pair pair = paired(ONE);
	char two[2];
	struct iovec iov = { two, 2 };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	SENDS(pair.client, "abc");
	SAME(recvmsg(pair.server, &header, 0), 2);
	SAME(header.msg_flags, 0);
	SAME(recvmsg(pair.server, &header, 0), 1);
	SAME(header.msg_flags, MSG_EOR);
}

CASE(peek_leaves_the_message)
{
	struct pair pair = paired(ONE);
	SENDS(pair.client, "there");
	SENDS(pair.client, "next");
	struct message *got = receive(pair.server, MSG_PEEK);
	SAME(got->len, 5);
	ARRIVES(pair.server, "there");
	got = receive(pair.server, MSG_PEEK);
	SAME(got->len, 4);
	ARRIVES(pair.server, "next");
}

CASE(peek_of_a_part)
{
	struct pair pair = paired(ONE);
	char two[2];
	SENDS(pair.client, "abc");
	SAME(recv(pair.server, two, 2, MSG_PEEK), 2);
	ARRIVES(pair.server, "abc");
}

CASE(trunc_flag_gives_what_fits)
{
	struct pair pair = paired(ONE);
	char two[2];
	SENDS(pair.client, "abc");
	SAME(recv(pair.server, two, 2, MSG_TRUNC), 2);
	ARRIVES(pair.server, "c");
}

CASE(waitall_does_not_wait)
{
	struct pair pair = paired(ONE);
	char ten[10];
	SENDS(pair.client, "abc");
	SAME(recv(pair.server, ten, 10, MSG_WAITALL), 3);
}

CASE(dontwait_on_empty)
{
	struct pair pair = paired(ONE);
	FAILS(receive(pair.server, MSG_DONTWAIT)->len, EAGAIN);
}

CASE(nobody_waits_for_the_error_queue)
{
	struct pair pair = paired(ONE);
	char byte;
	SENDS(pair.client, "x");
	SAME(recv(pair.server, &byte, 1, MSG_PEEK), 1);
	FAILS(recv(pair.server, &byte, 1, MSG_ERRQUEUE), EAGAIN);
	ARRIVES(pair.server, "x");
	FAILS(recv(pair.server, &byte, 1, MSG_ERRQUEUE), EAGAIN);
}

CASE(as_many_buffers_as_there_can_be)
{
	static struct iovec parts[1025];
	static struct iovec holes[1024];
	static char into[1025];
	struct pair pair = paired(ONE);
	struct msghdr taken = { .msg_iov = holes, .msg_iovlen = 1024 };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 1024 };
	for (int n = 0; n < 1025; n++)
		parts[n] = (struct iovec){ "abcdefgh" + n % 8, 1 };
	SAME(sendmsg(pair.client, &message, 0), 1024);
	SAME(recv(pair.server, into, sizeof into, 0), 1024);
	CHECK(memcmp(into, "abcdefgh", 8) == 0 && memcmp(into + 1016, "abcdefgh", 8) == 0);
	for (int n = 0; n < 1024; n++)
		holes[n] = (struct iovec){ into + n, 1 };
	memset(into, 0, sizeof into);
	SAME(sendmsg(pair.client, &message, 0), 1024);
	SAME(recvmsg(pair.server, &taken, 0), 1024);
	CHECK(taken.msg_flags & MSG_EOR);
	CHECK(memcmp(into, "abcdefgh", 8) == 0 && memcmp(into + 1016, "abcdefgh", 8) == 0);
	/* And behind the beginning of a message, which was taken before. */
	CHECK(sendmsg(pair.client, &message, 0) == 1024 && recv(pair.server, into, 4, 0) == 4);
	SAME(readv(pair.server, holes, 1024), 1020);
	CHECK(memcmp(into, "efghabcd", 8) == 0 && memcmp(into + 1012, "abcdefgh", 8) == 0);
	message.msg_iovlen = 1025;
	FAILS(sendmsg(pair.client, &message, 0), EMSGSIZE);
	FAILS(writev(pair.client, parts, 1025), EINVAL);
}

CASE(zero_length_receive)
{
	struct pair pair = paired(ONE);
	char none;
	SENDS(pair.client, "abc");
	CHECK(wait_for(pair.server, POLLIN) & POLLIN);
	SAME(recv(pair.server, &none, 0, 0), 0);
	ARRIVES(pair.server, "abc");
}

//= RFC 6458 3.1.4-1
EACH(sender_is_told, both_kinds)
{
	struct pair pair = paired(row->kind);
	say(&pair, true, "x");
	struct message *got = receive(pair.server, 0);
	SAME(got->from_len, sizeof(struct sockaddr_in));
	SAME(port_of(&got->from), port(pair.client));
}

EACH(sender_is_told_v6, both_kinds)
{
	family = AF_INET6;
	struct pair pair = paired(row->kind);
	say(&pair, true, "x");
	struct message *got = receive(pair.server, 0);
	SAME(got->from_len, sizeof(struct sockaddr_in6));
	SAME(port_of(&got->from), port(pair.client));
}

CASE(answer_by_address)
{
	struct pair pair = paired(MANY);
	say(&pair, true, "ping");
	struct message *got = receive(pair.server, 0);
	SAME(sendto(pair.server, "pong", 4, 0, (struct sockaddr *)&got->from, got->from_len), 4);
	ARRIVES(pair.client, "pong");
}

//= RFC 6458 3.1.6-1 7.5-1
CASE(send_sets_up_an_association)
{
	int server = listening(MANY), client = new_socket(MANY);
	struct sockaddr_in to;
	socklen_t len = address(&to, loopback(), port(server));
	SAME(sendto(client, "first", 5, 0, (struct sockaddr *)&to, len), 5);
	ARRIVES(server, "first");
	SAME(sendto(client, "second", 6, 0, (struct sockaddr *)&to, len), 6);
	ARRIVES(server, "second");
}

/* RFC 6458 §4 has this for one-to-many sockets; Linux serves both. */
//= RFC 6458 4.1.5-1
CASE(one_to_one_send_sets_up_an_association)
{
	int listener = listening(ONE), client = new_socket(ONE);
	struct sockaddr_in to;
	socklen_t len = address(&to, loopback(), port(listener));
	SAME(sendto(client, "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&to, len), 1);
	int server = accept(listener, NULL, NULL);
	CHECK(server >= 0);
	ARRIVES(server, "x");
}

/* What SCTP_INIT says is for the association that the message opens, and no other. */
EACH(init_of_a_new_association, both_kinds)
{
	int server = listening(MANY), client = bound(row->kind);
	struct sctp_initmsg init = { .sinit_num_ostreams = 30, .sinit_max_instreams = 5 };
	char control[CMSG_SPACE(sizeof init)] = { 0 };
	struct iovec iov = { "hello", 5 };
	struct sockaddr_in to;
	struct msghdr header = { .msg_name = &to, .msg_namelen = address(&to, loopback(), port(server)),
				 .msg_iov = &iov, .msg_iovlen = 1,
				 .msg_control = control, .msg_controllen = sizeof control };
	struct cmsghdr *head = CMSG_FIRSTHDR(&header);
	head->cmsg_level = IPPROTO_SCTP;
	head->cmsg_type = SCTP_INIT;
	head->cmsg_len = CMSG_LEN(sizeof init);
	memcpy(CMSG_DATA(head), &init, sizeof init);
	WORKS(subscribe(client, SCTP_ASSOC_CHANGE, true));
	SAME(sendmsg(client, &header, 0), 5);
	struct sctp_assoc_change *up = CHANGED(client, SCTP_COMM_UP);
	SAME(up->sac_outbound_streams, 30);
	SAME(up->sac_inbound_streams, 5);
	ARRIVES(server, "hello");
	socklen_t len = sizeof init;
	WORKS(getsockopt(client, IPPROTO_SCTP, SCTP_INITMSG, &init, &len));
	SAME(init.sinit_num_ostreams, 10);
	SAME(init.sinit_max_instreams, 65535);
}

CASE(one_to_one_ignores_its_own_peer_as_destination)
{
	struct pair pair = paired(ONE);
	socklen_t len;
	struct sockaddr *to = server_address(&pair, &len);
	SAME(sendto(pair.client, "x", 1, 0, to, len), 1);
	ARRIVES(pair.server, "x");
}

static const struct wrong_destination {
	const char *label;
	enum kind kind;
	const char *text;
	int port, len, number;
} wrong_destinations[] = {
	{ "v6_on_v4", MANY, "::1", 5, 28, EINVAL },
	{ "short", MANY, "127.0.0.1", 5, 5, EINVAL },
	{ "nearly_whole", MANY, "127.0.0.1", 5, 15, EINVAL },
	{ "multicast", MANY, "224.0.0.1", 5, 16, EINVAL },
	{ "stranger_on_one", ONE, "127.0.0.1", 5, 16, EADDRNOTAVAIL },
	{ "no_port_on_one", ONE, "127.0.0.1", 0, 16, EADDRNOTAVAIL },
};

EACH(destination, wrong_destinations)
{
	struct pair pair = paired(row->kind);
	struct sockaddr_storage to;
	address(&to, row->text, row->port);
	FAILS(sendto(pair.client, "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&to, row->len),
	      row->number);
}

/* RFC 6458 §5.3.9: further addresses for an association that the message opens. */
CASE(an_ancillary_address_alone_says_nothing)
{
	struct pair pair = paired(ONE);
	struct in_addr own = { htonl(INADDR_LOOPBACK) }, other = { htonl(0xc0000201) };
	SAME(send_with(pair.client, "x", SCTP_DSTADDRV4, &own, sizeof own), 1);
	ARRIVES(pair.server, "x");
	SAME(send_with(pair.client, "y", SCTP_DSTADDRV4, &other, sizeof other), 1);
	ARRIVES(pair.server, "y");
}

/* Ancillary data and its counterpart at the receiver. */
static const struct told {
	const char *label;
	int stream, flags;
	uint32_t ppid, context;
} tolds[] = {
	{ "stream_0", 0, 0, 0, 0 },
	{ "stream_9", 9, 0, 0, 0 },
	{ "unordered", 3, SCTP_UNORDERED, 0, 0 },
	{ "ppid", 0, 0, 0xdeadbeef, 0 },
	{ "context_is_not_sent", 1, 0, 0, 77 },
};

static void check_told(const struct told *row, struct message *got)
{
	CHECK(got->has_rcv);
	SAME(got->rcv.rcv_sid, row->stream);
	SAME(got->rcv.rcv_flags & SCTP_UNORDERED, row->flags);
	SAME(got->rcv.rcv_ppid, row->ppid);
	SAME(got->rcv.rcv_context, 0);
}

EACH(sndinfo, tolds)
{
	struct pair pair = paired(ONE);
	struct sctp_sndinfo info = { .snd_sid = row->stream,
				     .snd_flags = row->flags,
				     .snd_ppid = row->ppid,
				     .snd_context = row->context };
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	SAME(send_with(pair.client, "x", SCTP_SNDINFO, &info, sizeof info), 1);
	check_told(row, receive(pair.server, 0));
}

EACH(sndrcv, tolds)
{
	struct pair pair = paired(ONE);
	struct sctp_sndrcvinfo info = { .sinfo_stream = row->stream,
					.sinfo_flags = row->flags,
					.sinfo_ppid = row->ppid,
					.sinfo_context = row->context };
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	SAME(send_with(pair.client, "x", SCTP_SNDRCV, &info, sizeof info), 1);
	check_told(row, receive(pair.server, 0));
}

//= RFC 6458 9.12-1
EACH(sendv_sndinfo, tolds)
{
	struct pair pair = paired(ONE);
	struct iovec iov = { "x", 1 };
	struct sctp_sndinfo info = { .snd_sid = row->stream,
				     .snd_flags = row->flags,
				     .snd_ppid = row->ppid,
				     .snd_context = row->context };
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	SAME(sctp_sendv(pair.client, &iov, 1, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0),
	     1);
	check_told(row, receive(pair.server, 0));
}

EACH(sctp_sendmsg_arguments, tolds)
{
	struct pair pair = paired(ONE);
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	SAME(sctp_sendmsg(pair.client, "x", 1, NULL, 0, row->ppid, row->flags, row->stream, 0,
			  row->context),
	     1);
	check_told(row, receive(pair.server, 0));
}

EACH(defaults_sndinfo, tolds)
{
	struct pair pair = paired(ONE);
	struct sctp_sndinfo info = { .snd_sid = row->stream,
				     .snd_flags = row->flags,
				     .snd_ppid = row->ppid,
				     .snd_context = row->context };
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	WORKS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_DEFAULT_SNDINFO, &info, sizeof info));
	SENDS(pair.client, "x");
	check_told(row, receive(pair.server, 0));
}

static const struct wrong_info {
	const char *label;
	int type;
	size_t size;
	int number;
} wrong_infos[] = {
	{ "short_sndinfo", SCTP_SNDINFO, sizeof(struct sctp_sndinfo) - 1, EINVAL },
	{ "long_sndinfo", SCTP_SNDINFO, sizeof(struct sctp_sndinfo) + 1, EINVAL },
	{ "short_sndrcv", SCTP_SNDRCV, sizeof(struct sctp_sndrcvinfo) - 1, EINVAL },
	{ "short_init", SCTP_INIT, sizeof(struct sctp_initmsg) - 1, EINVAL },
	{ "rcvinfo", SCTP_RCVINFO, sizeof(struct sctp_rcvinfo), EINVAL },
	{ "unknown", 77, 8, EINVAL },
};

EACH(ancillary_data, wrong_infos)
{
	struct pair pair = paired(ONE);
	char nothing[100] = { 0 };
	FAILS(send_with(pair.client, "x", row->type, nothing, row->size), row->number);
}

CASE(ancillary_data_of_another_level)
{
	struct pair pair = paired(ONE);
	char control[CMSG_SPACE(4)] = { 0 };
	struct iovec iov = { "x", 1 };
	struct msghdr header = { .msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof control };
	struct cmsghdr *c = CMSG_FIRSTHDR(&header);
	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = 1;
	c->cmsg_len = CMSG_LEN(4);
	SAME(sendmsg(pair.client, &header, 0), 1);
	ARRIVES(pair.server, "x");
}

EACH(stream_that_is_not_there, both_kinds)
{
	struct pair pair = paired(row->kind);
	struct sctp_sndinfo info = { .snd_sid = 5000, .snd_assoc_id = pair.client_id };
	FAILS(send_with(pair.client, "x", SCTP_SNDINFO, &info, sizeof info), EINVAL);
}

static const struct wrong_flag {
	const char *label;
	int flags, number;
} wrong_flags[] = {
	{ "eof", SCTP_EOF, EINVAL },
	{ "abort", SCTP_ABORT, EINVAL },
	{ "eof_and_abort", SCTP_EOF | SCTP_ABORT, EINVAL },
	{ "addr_over_without_address", SCTP_ADDR_OVER, EINVAL },
	{ "sack_immediately", SCTP_SACK_IMMEDIATELY, 0 },
	{ "unknown", 0x1000, EINVAL },
};

EACH(flags_of_a_message, wrong_flags)
{
	struct pair pair = paired(ONE);
	struct sctp_sndinfo info = { .snd_flags = row->flags };
	FAILS(send_with(pair.client, "x", SCTP_SNDINFO, &info, sizeof info), row->number);
	if (row->number == 0)
		ARRIVES(pair.server, "x");
}

CASE(order_within_a_stream)
{
	struct pair pair = paired(ONE);
	char text[3] = "a0";
	for (int n = 0; n < 20; n++) {
		struct sctp_sndinfo info = { .snd_sid = n % 2 };
		text[0] = 'a' + n % 2;
		text[1] = 'A' + n / 2;
		SAME(send_with(pair.client, text, SCTP_SNDINFO, &info, sizeof info), 2);
	}
	char next[2] = { 'A', 'A' };
	for (int n = 0; n < 20; n++) {
		struct message *got = receive(pair.server, 0);
		SAME(got->len, 2);
		SAME(got->data[1], next[got->data[0] - 'a']++);
	}
}

CASE(ssn_counts_in_each_stream)
{
	struct pair pair = paired(ONE);
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	for (int n = 0; n < 4; n++) {
		struct sctp_sndinfo info = { .snd_sid = n % 2 };
		SAME(send_with(pair.client, "x", SCTP_SNDINFO, &info, sizeof info), 1);
	}
	for (int n = 0; n < 4; n++)
		SAME(receive(pair.server, 0)->rcv.rcv_ssn, n / 2);
}

/* Waits until two messages can be read. */
static void wait_for_two(int fd)
{
	struct sctp_assoc_stats stats = { 0 };
	long long until = clock_ms() + 5000;
	do {
		socklen_t len = sizeof stats;
		WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_GET_ASSOC_STATS, &stats, &len));
	} while (stats.sas_iodchunks < 2 && clock_ms() < until);
	SAME(stats.sas_iodchunks, 2);
}

CASE(nxtinfo_tells_of_the_next_message)
{
	struct pair pair = paired(ONE);
	struct sctp_sndinfo info = { .snd_sid = 4, .snd_ppid = 99 };
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVNXTINFO, 1));
	WORKS(set_int(pair.client, IPPROTO_SCTP, SCTP_NODELAY, 1));
	SENDS(pair.client, "first");
	SAME(send_with(pair.client, "second", SCTP_SNDINFO, &info, sizeof info), 6);
	wait_for_two(pair.server);
	struct message *got = receive(pair.server, 0);
	CHECK(got->has_nxt);
	SAME(got->nxt.nxt_sid, 4);
	SAME(got->nxt.nxt_ppid, 99);
	SAME(got->nxt.nxt_length, 6);
	got = receive(pair.server, 0);
	CHECK(!got->has_nxt);
}

//= RFC 6458 5.3.5-1 5.3.6-1
CASE(nothing_is_told_unless_asked_for)
{
	struct pair pair = paired(ONE);
	SENDS(pair.client, "x");
	struct message *got = receive(pair.server, 0);
	SAME(got->len, 1);
	CHECK(!got->has_rcv && !got->has_nxt && !got->has_sndrcv);
}

CASE(data_information)
{
	struct pair pair = paired(ONE);
	struct sctp_event_subscribe all = { .sctp_data_io_event = 1 };
	struct sctp_sndrcvinfo info = { .sinfo_stream = 2, .sinfo_ppid = 5 };
	WORKS(setsockopt(pair.server, IPPROTO_SCTP, SCTP_EVENTS, &all, sizeof all));
	SAME(send_with(pair.client, "x", SCTP_SNDRCV, &info, sizeof info), 1);
	struct message *got = receive(pair.server, 0);
	CHECK(got->has_sndrcv);
	SAME(got->sndrcv.sinfo_stream, 2);
	SAME(got->sndrcv.sinfo_ppid, 5);
}

CASE(context_of_the_receiver)
{
	struct pair pair = paired(MANY);
	struct sctp_assoc_value value = { .assoc_id = pair.server_id, .assoc_value = 4242 };
	WORKS(setsockopt(pair.server, IPPROTO_SCTP, SCTP_CONTEXT, &value, sizeof value));
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	say(&pair, true, "x");
	SAME(receive(pair.server, 0)->rcv.rcv_context, 4242);
}

CASE(control_is_cut)
{
	struct pair pair = paired(ONE);
	char byte, control[CMSG_SPACE(4)];
	struct iovec iov = { &byte, 1 };
	struct msghdr header = { .msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof control };
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	SENDS(pair.client, "x");
	SAME(recvmsg(pair.server, &header, 0), 1);
	CHECK(header.msg_flags & MSG_CTRUNC);
}

static const struct recvv_type {
	const char *label;
	bool rcv, nxt;
	unsigned type;
} recvv_types[] = {
	{ "none", false, false, SCTP_RECVV_NOINFO },
	{ "rcvinfo", true, false, SCTP_RECVV_RCVINFO },
	{ "rn", true, true, SCTP_RECVV_RN },
	{ "nxtinfo", false, true, SCTP_RECVV_NXTINFO },
};

EACH(recvv_gives, recvv_types)
{
	struct pair pair = paired(ONE);
	char byte;
	struct iovec iov = { &byte, 1 };
	char info[200];
	socklen_t info_len = sizeof info, from_len = 0;
	unsigned type = 77;
	int flags = 0;
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, row->rcv));
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVNXTINFO, row->nxt));
	WORKS(set_int(pair.client, IPPROTO_SCTP, SCTP_NODELAY, 1));
	SENDS(pair.client, "x");
	SENDS(pair.client, "y");
	wait_for_two(pair.server);
	SAME(sctp_recvv(pair.server, &iov, 1, NULL, &from_len, info, &info_len, &type, &flags), 1);
	SAME(type, row->type);
	SAME(flags & MSG_EOR, MSG_EOR);
}

CASE(full_buffer_blocks_the_sender)
{
	struct pair pair = paired(ONE);
	long sent = 0;
	nonblocking(pair.client);
	/* A stack beside the program may still be taking what it has written. */
	for (int refused = 0; refused < 30 && sent < 50000000;) {
		ssize_t got = send(pair.client, large, 10000, 0);
		refused = got < 0 ? refused + 1 : 0;
		if (got < 0)
			usleep(10000);
		else
			sent += got;
	}
	FAILS(send(pair.client, large, 10000, 0), EAGAIN);
	CHECK(!(now(pair.client, POLLOUT) & POLLOUT));
}

CASE(send_times_out)
{
	struct pair pair = paired(ONE);
	patience(pair.client, SO_SNDTIMEO, 60);
	int number = 0;
	for (int n = 0; n < 5000 && number == 0; n++)
		if (send(pair.client, large, 10000, 0) < 0)
			number = errno;
	SAME(number, EAGAIN);
}

CASE(reading_lets_the_sender_go_on)
{
	struct pair pair = paired(ONE);
	nonblocking(pair.client);
	while (send(pair.client, large, 10000, 0) > 0)
		continue;
	for (int n = 0; n < 200 && !(now(pair.client, POLLOUT) & POLLOUT); n++)
		CHECK(receive(pair.server, 0)->len > 0);
	CHECK(wait_for(pair.client, POLLOUT) & POLLOUT);
}

/* What is there already, or on its way, is not lost when the buffer gets smaller. */
CASE(receive_buffer_gets_smaller)
{
	struct pair pair = paired(ONE);
	const int size = 65000, most = 12;
	int sent = 0;
	nonblocking(pair.client);
	for (int refused = 0; refused < 20 && sent < most;) {
		memset(large, sent, size);
		if (send(pair.client, large, size, 0) == size) {
			refused = 0;
			sent++;
		} else {
			refused++;
			usleep(10000);
		}
	}
	WORKS(set_int(pair.server, SOL_SOCKET, SO_RCVBUF, 30000));
	patience(pair.server, SO_RCVTIMEO, 5000);
	for (int n = 0; n < sent; n++)
		for (int left = size; left > 0;) {
			struct message *got = receive(pair.server, 0);
			CHECK(got->len > 0 && got->len <= left);
			for (int at = 0; at < got->len; at++)
				SAME(got->data[at], (char)n);
			left -= got->len;
			SAME(left == 0, (got->flags & MSG_EOR) != 0);
		}
}

CASE(sigpipe)
{
	sigset_t pipe;
	siginfo_t info;
	struct timespec none = { 0, 0 };
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	WORKS(sigprocmask(SIG_BLOCK, &pipe, NULL));
	FAILS(send(new_socket(ONE), "x", 1, 0), EPIPE);
	SAME(sigtimedwait(&pipe, &info, &none), SIGPIPE);
	FAILS(send(new_socket(ONE), "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK(sigtimedwait(&pipe, &info, &none) == -1);
}

CASE(ttl_that_has_passed)
{
	struct pair pair = paired(ONE);
	SAME(sctp_sendmsg(pair.client, "x", 1, NULL, 0, 0, 0, 0, 10000, 0), 1);
	ARRIVES(pair.server, "x");
}
