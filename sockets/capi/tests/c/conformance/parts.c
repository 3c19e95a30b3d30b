/* Messages that are handed over in parts (RFC 6458 §8.1.20, §8.1.21, §6.1.7). */
#include "suite.h"

/* A receiver with less room than the message has bytes. */
enum { ROOM = 10000, LONG = 120000, SEGMENT = 1000 };
static char sent[LONG];

/* Two ends; the passive one, which is told of the end of associations, gets parts. */
static struct pair crowded(enum kind kind, int level)
{
	struct pair pair = { .listener = listening(kind), .client = bound(kind) };
	WORKS(set_int(pair.client, IPPROTO_SCTP, SCTP_MAXSEG, SEGMENT));
	WORKS(set_int(pair.listener, SOL_SOCKET, SO_RCVBUF, ROOM));
	WORKS(set_int(pair.listener, IPPROTO_SCTP, SCTP_FRAGMENT_INTERLEAVE, level));
	WORKS(set_int(pair.listener, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	if (kind == MANY)
		WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, true));
	WORKS(dial(pair.client, port(pair.listener)));
	pair.server = kind == MANY ? pair.listener : accept(pair.listener, NULL, NULL);
	CHECK(pair.server >= 0);
	if (kind == MANY)
		pair.client_id = CHANGED(pair.client, SCTP_COMM_UP)->sac_assoc_id;
	for (int i = 0; i < LONG; i++)
		sent[i] = i / SEGMENT;
	return pair;
}

static void send_long(const struct pair *pair)
{
	socklen_t len;
	const struct sockaddr *to = server_address(pair, &len);
	SAME(sendto(pair->client, sent, LONG, MSG_NOSIGNAL, to, len), LONG);
}

/* Receives a part of the message, `at` bytes of which have been; where the next one begins. */
static size_t next_part(int fd, size_t at)
{
	struct message *got = receive(fd, 0);
	CHECK(got->len > 0 && !(got->flags & MSG_NOTIFICATION));
	CHECK(at + got->len <= LONG);
	SAME(memcmp(got->data, sent + at, got->len), 0);
	SAME(got->rcv.rcv_ssn, 0);
	at += got->len;
	SAME((got->flags & MSG_EOR) != 0, at == LONG);
	return at;
}

EACH(point_of_a_socket, both_kinds)
{
	int fd = new_socket(row->kind), point = -5;
	SAME(get_int(fd, IPPROTO_SCTP, SCTP_PARTIAL_DELIVERY_POINT), 0);
	WORKS(set_int(fd, IPPROTO_SCTP, SCTP_PARTIAL_DELIVERY_POINT, 5000));
	SAME(get_int(fd, IPPROTO_SCTP, SCTP_PARTIAL_DELIVERY_POINT), 5000);
	FAILS(set_int(fd, IPPROTO_SCTP, SCTP_PARTIAL_DELIVERY_POINT, 1 << 30), EINVAL);
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_PARTIAL_DELIVERY_POINT, &point, 2), EINVAL);
}

EACH(larger_than_the_buffer, both_kinds)
{
	struct pair pair = crowded(row->kind, 0);
	size_t at = 0;
	int parts = 0;
	send_long(&pair);
	for (; at < LONG; parts++)
		at = next_part(pair.server, at);
	CHECK(parts > 1);
	say(&pair, true, "next");
	ARRIVES(pair.server, "next");
}

static const struct reading {
	const char *label;
	int call;
} readings[] = { { "recvmsg", 0 }, { "sctp_recvmsg", 1 }, { "sctp_recvv", 2 }, { "recv", 3 } };

/* MSG_EOR is where the message ends, by any call that tells of it. */
//= RFC 6458 9.8-3 9.13-1
EACH(the_end_is_told_by, readings)
{
	static char into[LONG];
	struct pair pair = crowded(ONE, 0);
	size_t at = 0;
	send_long(&pair);
	while (at < LONG) {
		struct iovec part = { into, LONG };
		struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
		socklen_t info_len = 0;
		unsigned type;
		ssize_t got;
		int flags = 0;
		if (row->call == 0) {
			got = recvmsg(pair.server, &header, 0);
			flags = header.msg_flags;
		} else if (row->call == 1) {
			got = sctp_recvmsg(pair.server, into, LONG, NULL, NULL, NULL, &flags);
		} else if (row->call == 2) {
			got = sctp_recvv(pair.server, &part, 1, NULL, NULL, NULL, &info_len, &type,
					 &flags);
		} else {
			got = recv(pair.server, into, LONG, 0);
		}
		CHECK(got > 0);
		SAME(memcmp(into, sent + at, got), 0);
		at += got;
		if (row->call < 3)
			SAME((flags & MSG_EOR) != 0, at == LONG);
	}
	CHECK(quiet(pair.server));
}

/* Who has read a part and stops holds up the writer, which is told so; nothing is lost. */
EACH(a_reader_that_stops, both_kinds)
{
	struct pair pair = crowded(row->kind, 0);
	size_t at, left = 0;
	socklen_t len;
	const struct sockaddr *to = server_address(&pair, &len);
	send_long(&pair);
	at = next_part(pair.server, 0);
	nonblocking(pair.client);
	for (int i = 0; i < 200; i++) {
		ssize_t got = sendto(pair.client, sent, LONG, MSG_NOSIGNAL, to, len);
		if (got < 0) {
			int why = errno;
			SAME(why, EAGAIN);
			break;
		}
		SAME(got, LONG);
		left += LONG;
	}
	CHECK(left < 200 * LONG);
	while (at < LONG)
		at = next_part(pair.server, at);
	while (left > 0) {
		struct message *got = receive(pair.server, 0);
		CHECK(got->len > 0 && (size_t)got->len <= left);
		left -= got->len;
	}
	CHECK(quiet(pair.server));
}

/* Receives what is left of the message, and then the news that the rest will not come. */
static void told_of_the_abort(int fd, size_t at)
{
	for (;;) {
		struct message *got = receive(fd, 0);
		CHECK(got->len > 0);
		if (got->flags & MSG_NOTIFICATION) {
			const union sctp_notification *told = (const void *)got->data;
			SAME(told->sn_header.sn_type, SCTP_PARTIAL_DELIVERY_EVENT);
			SAME(got->len, sizeof told->sn_pdapi_event);
			SAME(told->sn_pdapi_event.pdapi_length, got->len);
			SAME(told->sn_pdapi_event.pdapi_indication, SCTP_PARTIAL_DELIVERY_ABORTED);
			SAME(told->sn_pdapi_event.pdapi_stream, 0);
			SAME(told->sn_pdapi_event.pdapi_seq, 0);
			return;
		}
		SAME(memcmp(got->data, sent + at, got->len), 0);
		SAME(got->flags & MSG_EOR, 0);
		at += got->len;
	}
}

/* The client gives up. */
static void abort_it(const struct pair *pair)
{
	struct linger none = { .l_onoff = 1 };
	if (pair->client_id) {
		WORKS(end_with(pair->client, pair->client_id, SCTP_ABORT));
		return;
	}
	WORKS(setsockopt(pair->client, SOL_SOCKET, SO_LINGER, &none, sizeof none));
	WORKS(close(pair->client));
}

EACH(aborted_with_the_association, both_kinds)
{
	struct pair pair = crowded(row->kind, 0);
	WORKS(subscribe(pair.server, SCTP_PARTIAL_DELIVERY_EVENT, true));
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	send_long(&pair);
	size_t at = next_part(pair.server, 0);
	abort_it(&pair);
	told_of_the_abort(pair.server, at);
	CHANGED(pair.server, SCTP_COMM_LOST);
}

/* Without a subscription nothing says so. */
EACH(aborted_unasked, both_kinds)
{
	struct pair pair = crowded(row->kind, 0);
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	send_long(&pair);
	size_t at = next_part(pair.server, 0);
	abort_it(&pair);
	for (;;) {
		struct message *got = receive(pair.server, 0);
		CHECK(got->len > 0);
		if (got->flags & MSG_NOTIFICATION) {
			const union sctp_notification *told = (const void *)got->data;
			SAME(told->sn_header.sn_type, SCTP_ASSOC_CHANGE);
			SAME(told->sn_assoc_change.sac_state, SCTP_COMM_LOST);
			return;
		}
		SAME(memcmp(got->data, sent + at, got->len), 0);
		at += got->len;
	}
}

static const struct level_row {
	const char *label;
	int level;
} levels[] = { { "level_0", 0 }, { "level_1", 1 } };

/* RFC 6458 §8.1.20: level 0 "prevents the interleaving of any messages", level 1 "allows interleaving of
 * messages that are from different associations". */
EACH(another_association_at, levels)
{
	struct pair pair = crowded(MANY, row->level), other;
	size_t at = 0, came_at = 0;
	other = joined(pair.listener);
	send_long(&pair);
	at = next_part(pair.server, at);
	say(&other, true, "other");
	/* It is here before the room is that the rest of the message needs. */
	usleep(50000);
	while (at < LONG || !came_at) {
		struct message *got = receive(pair.server, 0);
		CHECK(got->len > 0);
		if (got->flags & MSG_NOTIFICATION)
			continue;
		if (got->len == 5 && memcmp(got->data, "other", 5) == 0) {
			came_at = at;
			continue;
		}
		SAME(memcmp(got->data, sent + at, got->len), 0);
		at += got->len;
	}
	SAME(came_at == LONG, row->level == 0);
}

/* RFC 3758 §3.6: what the sender gives up while it is read is told in its place; the association goes on. */
EACH(given_up_by_the_sender, both_kinds)
{
	struct pair pair = crowded(row->kind, 0);
	struct sctp_sendv_spa how = { .sendv_flags = SCTP_SEND_PRINFO_VALID | SCTP_SEND_SNDINFO_VALID };
	struct iovec part = { sent, LONG };
	socklen_t len;
	struct sockaddr *to = server_address(&pair, &len);
	WORKS(subscribe(pair.server, SCTP_PARTIAL_DELIVERY_EVENT, true));
	how.sendv_prinfo.pr_policy = SCTP_PR_SCTP_TTL;
	how.sendv_prinfo.pr_value = 300;
	SAME(sctp_sendv(pair.client, &part, 1, to, to ? 1 : 0, &how, sizeof how, SCTP_SENDV_SPA, 0),
	     LONG);
	size_t at = next_part(pair.server, 0);
	/* It has no room for more until its time is over. */
	usleep(400000);
	told_of_the_abort(pair.server, at);
	say(&pair, true, "next");
	ARRIVES(pair.server, "next");
}
