/* Notifications: which, when, with what in them, in which order. */
#include "suite.h"

/* What a socket is told of by default, and once it has asked. */
static const struct type {
	const char *label;
	int type, number;
} types[] = {
	{ "data_io", SCTP_DATA_IO_EVENT, 0 },
	{ "assoc_change", SCTP_ASSOC_CHANGE, 0 },
	{ "peer_addr_change", SCTP_PEER_ADDR_CHANGE, 0 },
	{ "send_failed", SCTP_SEND_FAILED, 0 },
	{ "remote_error", SCTP_REMOTE_ERROR, 0 },
	{ "shutdown", SCTP_SHUTDOWN_EVENT, 0 },
	{ "partial_delivery", SCTP_PARTIAL_DELIVERY_EVENT, 0 },
	{ "adaptation", SCTP_ADAPTATION_INDICATION, 0 },
	{ "authentication", SCTP_AUTHENTICATION_INDICATION, 0 },
	{ "sender_dry", SCTP_SENDER_DRY_EVENT, 0 },
	{ "stream_reset", 0x800a, 0 },
	{ "assoc_reset", 0x800b, 0 },
	{ "stream_change", 0x800c, 0 },
	{ "send_failed_event", 0x800d, 0 },
	{ "too_small", 0x7fff, EINVAL },
	{ "too_large", 0x800e, EINVAL },
};

EACH(event_of_type, types)
{
	struct sctp_event event = { .se_type = row->type };
	socklen_t len = sizeof event;
	int fd = new_socket(ONE);
	FAILS(getsockopt(fd, IPPROTO_SCTP, SCTP_EVENT, &event, &len), row->number);
	SAME(event.se_on, 0);
	FAILS(subscribe(fd, row->type, true), row->number);
	if (row->number)
		return;
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_EVENT, &event, &len));
	SAME(event.se_on, 1);
	WORKS(subscribe(fd, row->type, false));
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_EVENT, &event, &len));
	SAME(event.se_on, 0);
}

CASE(both_ways_to_ask_are_one)
{
	struct sctp_event_subscribe all = { .sctp_association_event = 1, .sctp_shutdown_event = 1 };
	struct sctp_event event = { .se_type = SCTP_SHUTDOWN_EVENT };
	socklen_t len = sizeof event;
	int fd = new_socket(ONE);
	WORKS(setsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, &all, sizeof all));
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_EVENT, &event, &len));
	SAME(event.se_on, 1);
	WORKS(subscribe(fd, SCTP_SHUTDOWN_EVENT, false));
	len = sizeof all;
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, &all, &len));
	SAME(all.sctp_association_event, 1);
	SAME(all.sctp_shutdown_event, 0);
}

/* SCTP_EVENT for one association, or for what the id means (RFC 6458 section 6.2.2). */
static int ask(int fd, sctp_assoc_t id, int type, bool on)
{
	struct sctp_event event = { .se_assoc_id = id, .se_type = type, .se_on = on };
	return setsockopt(fd, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event);
}

static int asked(int fd, sctp_assoc_t id, int type)
{
	struct sctp_event event = { .se_assoc_id = id, .se_type = type };
	socklen_t len = sizeof event;
	if (getsockopt(fd, IPPROTO_SCTP, SCTP_EVENT, &event, &len) != 0)
		return -1;
	return event.se_on;
}

CASE(one_association_is_told_of)
{
	struct pair one = paired(MANY), other = joined(one.server);
	int server = one.server;
	WORKS(ask(server, one.server_id, SCTP_SHUTDOWN_EVENT, true));
	SAME(asked(server, one.server_id, SCTP_SHUTDOWN_EVENT), 1);
	SAME(asked(server, other.server_id, SCTP_SHUTDOWN_EVENT), 0);
	SAME(asked(server, SCTP_FUTURE_ASSOC, SCTP_SHUTDOWN_EVENT), 0);
	WORKS(end_with(other.client, other.client_id, SCTP_EOF));
	CHECK(quiet(server));
	WORKS(end_with(one.client, one.client_id, SCTP_EOF));
	SAME(TOLD(server, SCTP_SHUTDOWN_EVENT)->sn_shutdown_event.sse_assoc_id, one.server_id);
	CHECK(quiet(server));
}

static const struct whom {
	const char *label;
	sctp_assoc_t id;
	bool there, to_come;
} whom[] = {
	{ "future", SCTP_FUTURE_ASSOC, false, true },
	{ "current", SCTP_CURRENT_ASSOC, true, false },
	{ "all", SCTP_ALL_ASSOC, true, true },
};

EACH(associations_that_are_told_of, whom)
{
	struct pair one = paired(MANY);
	int server = one.server;
	WORKS(ask(server, row->id, SCTP_SHUTDOWN_EVENT, true));
	struct pair other = joined(server);
	SAME(asked(server, SCTP_FUTURE_ASSOC, SCTP_SHUTDOWN_EVENT), row->to_come);
	SAME(asked(server, one.server_id, SCTP_SHUTDOWN_EVENT), row->there);
	SAME(asked(server, other.server_id, SCTP_SHUTDOWN_EVENT), row->to_come);
	WORKS(end_with(one.client, one.client_id, SCTP_EOF));
	if (row->there)
		TOLD(server, SCTP_SHUTDOWN_EVENT);
	CHECK(quiet(server));
	WORKS(end_with(other.client, other.client_id, SCTP_EOF));
	if (row->to_come)
		TOLD(server, SCTP_SHUTDOWN_EVENT);
	CHECK(quiet(server));
}

CASE(an_association_that_is_not_there)
{
	int fd = bound(MANY);
	FAILS(ask(fd, 12345, SCTP_SHUTDOWN_EVENT, true), EINVAL);
	SAME(asked(fd, 12345, SCTP_SHUTDOWN_EVENT), -1);
	/* What stands there for a one-to-one socket is of no interest. */
	fd = new_socket(ONE);
	WORKS(ask(fd, 12345, SCTP_SHUTDOWN_EVENT, true));
	SAME(asked(fd, 0, SCTP_SHUTDOWN_EVENT), 1);
}

/* The older structure names no association. */
CASE(the_older_way_is_for_all)
{
	struct sctp_event_subscribe all = { .sctp_shutdown_event = 1 };
	struct pair pair = paired(MANY);
	WORKS(setsockopt(pair.server, IPPROTO_SCTP, SCTP_EVENTS, &all, sizeof all));
	SAME(asked(pair.server, pair.server_id, SCTP_SHUTDOWN_EVENT), 1);
	SAME(asked(pair.server, SCTP_FUTURE_ASSOC, SCTP_SHUTDOWN_EVENT), 1);
	WORKS(end_with(pair.client, pair.client_id, SCTP_EOF));
	TOLD(pair.server, SCTP_SHUTDOWN_EVENT);
}

CASE(events_of_another_length)
{
	char on[2] = { 0, 1 };
	struct sctp_event_subscribe all = { 0 };
	socklen_t len = 2;
	int fd = new_socket(ONE);
	WORKS(setsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, on, 2));
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, &all, &len));
	SAME(len, 2);
	SAME(all.sctp_association_event, 1);
}

EACH(nothing_unless_asked, both_kinds)
{
	struct pair pair = paired(row->kind);
	CHECK(quiet(pair.client));
	CHECK(quiet(pair.server));
}

CASE(up_on_both_ends)
{
	int server = listening(MANY), client = bound(MANY);
	WORKS(subscribe(server, SCTP_ASSOC_CHANGE, true));
	WORKS(subscribe(client, SCTP_ASSOC_CHANGE, true));
	WORKS(dial(client, port(server)));
	struct sctp_assoc_change *up = CHANGED(client, SCTP_COMM_UP);
	SAME(up->sac_outbound_streams, 10);
	SAME(up->sac_inbound_streams, 10);
	SAME(up->sac_error, 0);
	CHECK(up->sac_assoc_id > 0);
	up = CHANGED(server, SCTP_COMM_UP);
	SAME(up->sac_outbound_streams, 10);
}

CASE(up_on_an_accepted_socket)
{
	int listener = listening(ONE), client = bound(ONE);
	WORKS(subscribe(listener, SCTP_ASSOC_CHANGE, true));
	WORKS(dial(client, port(listener)));
	int server = accept(listener, NULL, NULL);
	CHECK(server >= 0);
	CHANGED(server, SCTP_COMM_UP);
	CHECK(quiet(listener));
}

CASE(up_on_a_connected_one_to_one_socket)
{
	int listener = listening(ONE), client = bound(ONE);
	WORKS(subscribe(client, SCTP_ASSOC_CHANGE, true));
	WORKS(dial(client, port(listener)));
	CHANGED(client, SCTP_COMM_UP);
}

//= RFC 6458 5.3.1-1
CASE(streams_are_negotiated)
{
	int server = listening(MANY), client = bound(MANY);
	struct sctp_initmsg init = { .sinit_num_ostreams = 30, .sinit_max_instreams = 5 };
	WORKS(setsockopt(client, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init));
	WORKS(subscribe(client, SCTP_ASSOC_CHANGE, true));
	WORKS(subscribe(server, SCTP_ASSOC_CHANGE, true));
	WORKS(dial(client, port(server)));
	struct sctp_assoc_change *up = CHANGED(client, SCTP_COMM_UP);
	SAME(up->sac_outbound_streams, 30);
	SAME(up->sac_inbound_streams, 5);
	up = CHANGED(server, SCTP_COMM_UP);
	SAME(up->sac_outbound_streams, 5);
	SAME(up->sac_inbound_streams, 30);
}

CASE(cannot_start)
{
	int nobody = bound(ONE), number = port(nobody), client = bound(MANY);
	close(nobody);
	struct sockaddr_in to;
	socklen_t len = address(&to, loopback(), number);
	WORKS(subscribe(client, SCTP_ASSOC_CHANGE, true));
	nonblocking(client);
	FAILS(connect(client, (struct sockaddr *)&to, len), EINPROGRESS);
	CHANGED(client, SCTP_CANT_STR_ASSOC);
}

//= RFC 6458 6.1.5-1
EACH(peers_close, both_kinds)
{
	struct pair pair = paired(row->kind);
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	WORKS(subscribe(pair.server, SCTP_SHUTDOWN_EVENT, true));
	close(pair.client);
	struct sctp_shutdown_event *event =
		&TOLD(pair.server, SCTP_SHUTDOWN_EVENT)->sn_shutdown_event;
	SAME(event->sse_length, sizeof *event);
	CHANGED(pair.server, SCTP_SHUTDOWN_COMP);
}

CASE(own_end_of_an_association)
{
	struct pair pair = paired(MANY);
	WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, true));
	WORKS(end_with(pair.client, pair.client_id, SCTP_EOF));
	SAME(CHANGED(pair.client, SCTP_SHUTDOWN_COMP)->sac_assoc_id, pair.client_id);
}

CASE(data_comes_before_the_end)
{
	struct pair pair = paired(MANY);
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	WORKS(subscribe(pair.server, SCTP_SHUTDOWN_EVENT, true));
	say(&pair, true, "one");
	say(&pair, true, "two");
	close(pair.client);
	ARRIVES(pair.server, "one");
	ARRIVES(pair.server, "two");
	TOLD(pair.server, SCTP_SHUTDOWN_EVENT);
	CHANGED(pair.server, SCTP_SHUTDOWN_COMP);
}

EACH(peers_abort, both_kinds)
{
	struct pair pair = paired(row->kind);
	struct linger at_once = { 1, 0 };
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	WORKS(setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
	close(pair.client);
	struct sctp_assoc_change *change = CHANGED(pair.server, SCTP_COMM_LOST);
	CHECK(change->sac_error != 0);
	if (row->kind == ONE)
		FAILS(receive(pair.server, 0)->len, ECONNRESET);
}

CASE(own_abort)
{
	struct pair pair = paired(MANY);
	WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, true));
	WORKS(end_with(pair.client, pair.client_id, SCTP_ABORT));
	CHANGED(pair.client, SCTP_COMM_LOST);
}

CASE(abort_with_a_reason)
{
	struct pair pair = paired(MANY);
	struct sctp_sndinfo info = { .snd_assoc_id = pair.client_id, .snd_flags = SCTP_ABORT };
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	CHECK(send_with(pair.client, "reason", SCTP_SNDINFO, &info, sizeof info) >= 0);
	struct sctp_assoc_change *change = CHANGED(pair.server, SCTP_COMM_LOST);
	/* Cause 12, "User-Initiated Abort" (RFC 9260 §3.3.10.12). */
	SAME(ntohs(change->sac_error), 12);
	CHECK(memmem(change, change->sac_length, "reason", 6) != NULL);
}

CASE(dry_after_the_last_acknowledgement)
{
	struct pair pair = paired(MANY);
	WORKS(subscribe(pair.client, SCTP_SENDER_DRY_EVENT, true));
	say(&pair, true, "x");
	struct sctp_sender_dry_event *dry =
		&TOLD(pair.client, SCTP_SENDER_DRY_EVENT)->sn_sender_dry_event;
	SAME(dry->sender_dry_assoc_id, pair.client_id);
}

CASE(dry_at_once_when_nothing_is_on_its_way)
{
	struct pair pair = paired(ONE);
	WORKS(subscribe(pair.client, SCTP_SENDER_DRY_EVENT, true));
	TOLD(pair.client, SCTP_SENDER_DRY_EVENT);
}

CASE(adaptation_of_the_peer)
{
	int server = listening(MANY), client = bound(MANY);
	struct sctp_setadaptation layer = { .ssb_adaptation_ind = 0x1234 };
	WORKS(setsockopt(client, IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, &layer, sizeof layer));
	WORKS(subscribe(server, SCTP_ADAPTATION_INDICATION, true));
	WORKS(dial(client, port(server)));
	SAME(TOLD(server, SCTP_ADAPTATION_INDICATION)->sn_adaptation_event.sai_adaptation_ind,
	     0x1234);
}

/* An address that the association was set up with is no news. */
CASE(only_address_of_the_peer_does_not_change)
{
	int server = listening(MANY), client = bound(MANY);
	WORKS(subscribe(client, SCTP_PEER_ADDR_CHANGE, true));
	WORKS(subscribe(server, SCTP_PEER_ADDR_CHANGE, true));
	WORKS(dial(client, port(server)));
	CHECK(quiet(client));
	CHECK(quiet(server));
}

//= RFC 6458 6-1
CASE(notification_in_parts)
{
	struct pair pair = paired(MANY);
	char bytes[4], rest[1000];
	struct iovec iov = { bytes, sizeof bytes };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	close(pair.client);
	SAME(recvmsg(pair.server, &header, 0), 4);
	SAME(header.msg_flags & (MSG_NOTIFICATION | MSG_EOR), MSG_NOTIFICATION);
	iov = (struct iovec){ rest, sizeof rest };
	SAME(recvmsg(pair.server, &header, 0), sizeof(struct sctp_assoc_change) - 4);
	SAME(header.msg_flags & (MSG_NOTIFICATION | MSG_EOR), MSG_NOTIFICATION | MSG_EOR);
}

CASE(notification_has_no_sender_information)
{
	struct pair pair = paired(MANY);
	WORKS(set_int(pair.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	close(pair.client);
	struct message *got = receive(pair.server, 0);
	CHECK(got->flags & MSG_NOTIFICATION);
	CHECK(!got->has_rcv);
}

CASE(notification_makes_readable)
{
	struct pair pair = paired(MANY);
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	CHECK(!(now(pair.server, POLLIN) & POLLIN));
	close(pair.client);
	CHECK(wait_for(pair.server, POLLIN) & POLLIN);
}

CASE(unsubscribed_notifications_do_not_come)
{
	struct pair pair = paired(MANY);
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, false));
	close(pair.client);
	CHECK(quiet(pair.server));
}

CASE(accepted_sockets_inherit_the_subscription)
{
	int listener = listening(ONE), client = bound(ONE);
	WORKS(subscribe(listener, SCTP_SHUTDOWN_EVENT, true));
	WORKS(dial(client, port(listener)));
	int server = accept(listener, NULL, NULL);
	CHECK(server >= 0);
	close(client);
	TOLD(server, SCTP_SHUTDOWN_EVENT);
	SAME(receive(server, 0)->len, 0);
}

CASE(peeled_off_sockets_inherit_the_subscription)
{
	struct pair pair = paired(MANY);
	WORKS(subscribe(pair.server, SCTP_SHUTDOWN_EVENT, true));
	int fd = sctp_peeloff(pair.server, pair.server_id);
	CHECK(fd >= 0);
	close(pair.client);
	TOLD(fd, SCTP_SHUTDOWN_EVENT);
}

/* A message that cannot be sent any more comes back. */
static const struct failure {
	const char *label;
	int type;
} failures[] = { { "send_failed", SCTP_SEND_FAILED }, { "send_failed_event", 0x800d } };

/* Sends messages with the contexts 1, 2, ... to a peer that does not read, until its window and the
 * send buffer are full; how many. */
static int fill(const struct pair *pair, const char *block)
{
	struct sctp_sndinfo info = { .snd_assoc_id = pair->client_id, .snd_context = 1 };

	nonblocking(pair->client);
	do
		while (send_with(pair->client, block, SCTP_SNDINFO, &info, sizeof info) > 0)
			info.snd_context++;
	while (wait_for(pair->client, POLLOUT) && info.snd_context < 1000);
	return info.snd_context - 1;
}

static char block[50000];

EACH(message_comes_back, failures)
{
	struct pair pair = paired(MANY);
	memset(block, 'x', sizeof block - 1);
	WORKS(subscribe(pair.client, row->type, true));
	fill(&pair, block);
	/* What waits is lost by the peer's abort. */
	WORKS(end_with(pair.server, pair.server_id, SCTP_ABORT));
	union sctp_notification *event = TOLD(pair.client, row->type);
	if (row->type == SCTP_SEND_FAILED) {
		CHECK(event->sn_send_failed.ssf_info.sinfo_context > 0);
		SAME(event->sn_send_failed.ssf_assoc_id, pair.client_id);
	}
}

/* Flags of what comes back are those of a DATA chunk: SCTP_DATA_NOT_FRAG, and 4 for U. */
//= RFC 6458 6.1.4-2 6.1.11-2
EACH(what_comes_back_is_whole, failures)
{
	int nobody = bound(ONE), number = port(nobody), client = bound(MANY);
	struct sockaddr_in to;
	socklen_t len = address(&to, loopback(), number);
	close(nobody);
	WORKS(subscribe(client, row->type, true));
	for (int unordered = 0; unordered < 2; unordered++) {
		SAME(sctp_sendmsg(client, "hello", 5, (struct sockaddr *)&to, len, 0,
				  unordered ? SCTP_UNORDERED : 0, 0, 0, 0), 5);
		void *event = TOLD(client, row->type);
		struct sctp_send_failed *old = event;
		struct sctp_send_failed_event *failed = event;
		SAME(row->type == SCTP_SEND_FAILED ? old->ssf_info.sinfo_flags :
						     failed->ssfe_info.snd_flags,
		     unordered ? 7 : 3);
	}
}

/* All that was taken comes back from some message on, whole: it may be cut into fragments. */
CASE(all_that_was_not_sent_comes_back)
{
	struct pair pair = paired(MANY);
	static size_t back[1000];
	memset(block, 'x', sizeof block - 1);
	WORKS(subscribe(pair.client, SCTP_SEND_FAILED, true));
	WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, true));
	int sent = fill(&pair, block), first = sent;
	CHECK(sent > 1);
	WORKS(end_with(pair.server, pair.server_id, SCTP_ABORT));
	CHECK(wait_for(pair.client, POLLIN) & POLLIN);
	while (!quiet(pair.client)) {
		struct message *got = receive(pair.client, 0);
		struct sctp_send_failed *failed = (void *)got->data;
		CHECK(got->flags & MSG_NOTIFICATION);
		if (failed->ssf_type != SCTP_SEND_FAILED)
			continue;
		int number = failed->ssf_info.sinfo_context;
		CHECK(0 < number && number <= sent);
		back[number] += got->len - offsetof(struct sctp_send_failed, ssf_data);
		first = number < first ? number : first;
	}
	CHECK(first < sent);
	for (int n = first + 1; n <= sent; n++)
		SAME(back[n], sizeof block - 1);
}

/* Nobody hears of a message for an association that has ended. */
CASE(no_message_for_an_association_that_has_ended)
{
	struct pair pair = paired(MANY);
	SAME(say(&pair, true, "x"), 1);
	WORKS(end_with(pair.server, pair.server_id, SCTP_ABORT));
	long long end = clock_ms() + 1000;
	while (say(&pair, true, "x") == 1)
		CHECK(clock_ms() < end);
	FAILS(say(&pair, true, "x"), EPIPE);
}
