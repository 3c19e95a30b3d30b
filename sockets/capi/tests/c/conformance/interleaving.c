/* User message interleaving (RFC 8260 §4.3): who has it, and how a program reads what comes. */
#include "suite.h"

/* Older headers lack these. */
#define INTERLEAVING_SUPPORTED 125
#define STREAM_SCHEDULER 123
enum { ROUND_ROBIN = 2, SIZE = 20000, PART = 500 };

/* What a socket says that wants it, in the order of RFC 8260 §4.3.1. */
static void wish(int fd)
{
	WORKS(set_int(fd, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	WORKS(set_int(fd, IPPROTO_SCTP, SCTP_FRAGMENT_INTERLEAVE, 2));
	WORKS(set_value(fd, INTERLEAVING_SUPPORTED, 0, 1));
}

/* Two ends of which one or both want it. */
static struct pair joined_by(enum kind kind, bool client, bool server)
{
	struct pair pair = { .listener = listening(kind), .client = bound(kind) };
	if (server)
		wish(pair.listener);
	if (client)
		wish(pair.client);
	WORKS(set_value(pair.client, STREAM_SCHEDULER, 0, ROUND_ROBIN));
	WORKS(set_int(pair.client, IPPROTO_SCTP, SCTP_MAXSEG, PART));
	WORKS(set_int(pair.listener, SOL_SOCKET, SO_RCVBUF, SIZE / 2));
	if (kind == MANY) {
		WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, true));
		WORKS(subscribe(pair.listener, SCTP_ASSOC_CHANGE, true));
	}
	WORKS(dial(pair.client, port(pair.listener)));
	pair.server = kind == MANY ? pair.listener : accept(pair.listener, NULL, NULL);
	CHECK(pair.server >= 0);
	if (kind == MANY) {
		pair.client_id = CHANGED(pair.client, SCTP_COMM_UP)->sac_assoc_id;
		pair.server_id = CHANGED(pair.server, SCTP_COMM_UP)->sac_assoc_id;
	}
	return pair;
}

EACH(off_until_it_is_wanted, both_kinds)
{
	int fd = new_socket(row->kind);
	SAME(get_value(fd, INTERLEAVING_SUPPORTED, 0), 0);
	wish(fd);
	SAME(get_value(fd, INTERLEAVING_SUPPORTED, 0), 1);
	WORKS(set_value(fd, INTERLEAVING_SUPPORTED, 0, 0));
	SAME(get_value(fd, INTERLEAVING_SUPPORTED, 0), 0);
}

EACH(parts_must_be_welcome_before, both_kinds)
{
	int fd = new_socket(row->kind);
	FAILS(set_value(fd, INTERLEAVING_SUPPORTED, 0, 1), EPERM);
	WORKS(set_int(fd, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	WORKS(set_int(fd, IPPROTO_SCTP, SCTP_FRAGMENT_INTERLEAVE, 2));
	WORKS(set_value(fd, INTERLEAVING_SUPPORTED, 0, 1));
}

EACH(both_ends_must_want_it, all_ends)
{
	struct pair pair = joined_by(MANY, row->client, row->server);
	bool agreed = row->client && row->server;
	SAME(get_value(pair.client, INTERLEAVING_SUPPORTED, pair.client_id), agreed);
	SAME(get_value(pair.server, INTERLEAVING_SUPPORTED, pair.server_id), agreed);
	/* What associations to come are to have is another matter. */
	SAME(get_value(pair.client, INTERLEAVING_SUPPORTED, 0), row->client);
}

/* Two large messages on two streams leave at a time. The reader has little room, so a stack may hand them over in parts: each
 * tells its stream, and the last one of a message has MSG_EOR. */
EACH(parts_are_told_apart_by_their_stream, both_kinds)
{
	struct pair pair = joined_by(row->kind, true, true);
	static char sent[SIZE];
	size_t came[3] = { 0 };
	int whole = 0;

	for (int stream = 1; stream <= 2; stream++) {
		struct sctp_sndinfo info = { .snd_sid = stream, .snd_assoc_id = pair.client_id };
		struct iovec part = { .iov_base = sent, .iov_len = SIZE };
		char room[CMSG_SPACE(sizeof info)] = { 0 };
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room,
					  .msg_controllen = sizeof room };
		struct cmsghdr *control = CMSG_FIRSTHDR(&message);

		memset(sent, '0' + stream, SIZE);
		control->cmsg_level = IPPROTO_SCTP;
		control->cmsg_type = SCTP_SNDINFO;
		control->cmsg_len = CMSG_LEN(sizeof info);
		memcpy(CMSG_DATA(control), &info, sizeof info);
		SAME(sendmsg(pair.client, &message, 0), SIZE);
	}
	while (whole < 2) {
		struct message *got = receive(pair.server, 0);
		CHECK(got->len > 0 && got->has_rcv);
		int stream = got->rcv.rcv_sid;
		CHECK(stream == 1 || stream == 2);
		for (ssize_t i = 0; i < got->len; i++)
			SAME(got->data[i], '0' + stream);
		came[stream] += got->len;
		CHECK(came[stream] <= SIZE);
		SAME((got->flags & MSG_EOR) != 0, came[stream] == SIZE);
		whole += came[stream] == SIZE;
	}
	CHECK(quiet(pair.server));
}
