/* Partial reliability (RFC 6458 §5.3.7, §8.1.32, RFC 7496 §4): what is given up, and what both ends see of it. */
#include "suite.h"

enum { SIZE = 1000, LIFETIME = 100 };

static char filler[SIZE];

/* An option with one number for an association, for all of them, or for those to come. */
static int offer(int fd, sctp_assoc_t id, uint32_t value)
{
	struct sctp_assoc_value set = { .assoc_id = id, .assoc_value = value };
	return setsockopt(fd, IPPROTO_SCTP, SCTP_PR_SUPPORTED, &set, sizeof set);
}

static int offered(int fd, sctp_assoc_t id)
{
	struct sctp_assoc_value value = { .assoc_id = id };
	socklen_t len = sizeof value;
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_PR_SUPPORTED, &value, &len));
	return value.assoc_value;
}

static int set_default(int fd, sctp_assoc_t id, int policy, uint32_t value)
{
	struct sctp_default_prinfo set = { .pr_assoc_id = id, .pr_policy = policy, .pr_value = value };
	return setsockopt(fd, IPPROTO_SCTP, SCTP_DEFAULT_PRINFO, &set, sizeof set);
}

static void default_is(int fd, sctp_assoc_t id, int policy, uint32_t value)
{
	struct sctp_default_prinfo got = { .pr_assoc_id = id };
	socklen_t len = sizeof got;
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_DEFAULT_PRINFO, &got, &len));
	SAME(len, sizeof got);
	SAME(got.pr_policy, policy);
	SAME(got.pr_value, value);
}

/* How many messages were given up, of a stream or of all (-1). */
static int count(int fd, sctp_assoc_t id, int stream, int policy, struct sctp_prstatus *status)
{
	socklen_t len = sizeof *status;
	memset(status, 0, sizeof *status);
	status->sprstat_assoc_id = id;
	status->sprstat_sid = stream < 0 ? 0 : stream;
	status->sprstat_policy = policy;
	int option = stream < 0 ? SCTP_PR_ASSOC_STATUS : SCTP_PR_STREAM_STATUS;
	return getsockopt(fd, IPPROTO_SCTP, option, status, &len);
}

static long unsent(int fd, int stream, int policy)
{
	struct sctp_prstatus status;
	WORKS(count(fd, 0, stream, policy, &status));
	return status.sprstat_abandoned_unsent;
}

static const struct policy_row {
	const char *label;
	int policy;
	uint32_t value, kept;
} policies[] = {
	{ "none", SCTP_PR_SCTP_NONE, 5, 0 },
	{ "ttl", SCTP_PR_SCTP_TTL, 60000, 60000 },
	{ "rtx", SCTP_PR_SCTP_RTX, 3, 3 },
	{ "rtx_0", SCTP_PR_SCTP_RTX, 0, 0 },
	{ "prio", SCTP_PR_SCTP_PRIO, 7, 7 },
};

CASE(it_is_offered_unless_switched_off)
{
	struct pair pair = paired(MANY);
	SAME(offered(pair.client, 0), 1);
	SAME(offered(pair.client, pair.client_id), 1);
	SAME(offered(pair.server, pair.server_id), 1);
	/* What is there already stays. */
	WORKS(offer(pair.client, 0, 0));
	SAME(offered(pair.client, 0), 0);
	SAME(offered(pair.client, pair.client_id), 1);
}

CASE(support_is_asked_of_one_or_of_those_to_come)
{
	struct pair pair = paired(MANY);
	struct sctp_assoc_value value = { .assoc_id = SCTP_CURRENT_ASSOC };
	socklen_t len = sizeof value;
	FAILS(offer(pair.client, SCTP_CURRENT_ASSOC, 1), EINVAL);
	FAILS(offer(pair.client, SCTP_ALL_ASSOC, 1), EINVAL);
	FAILS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_PR_SUPPORTED, &value, &len), EINVAL);
}

static const struct either_row {
	const char *label;
	bool client, server;
} either_end[] = {
	{ "client", false, true },
	{ "server", true, false },
	{ "both", false, false },
};

/* Two ends of an association of one-to-one sockets. The server has little room for what it does not read. */
static struct pair narrow(bool client, bool server)
{
	struct pair pair = { .listener = listening(ONE), .client = bound(ONE) };
	WORKS(set_int(pair.listener, SOL_SOCKET, SO_RCVBUF, 5 * SIZE));
	WORKS(offer(pair.listener, 0, server));
	WORKS(offer(pair.client, 0, client));
	WORKS(set_int(pair.client, IPPROTO_SCTP, SCTP_NODELAY, 1));
	WORKS(dial(pair.client, port(pair.listener)));
	pair.server = accept(pair.listener, NULL, NULL);
	CHECK(pair.server >= 0);
	patience(pair.server, SO_RCVTIMEO, 5000);
	return pair;
}

EACH(both_ends_must_offer_it, either_end)
{
	struct pair pair = narrow(row->client, row->server);
	SAME(offered(pair.client, 0), 0);
	SAME(offered(pair.server, 0), 0);
}

EACH(default_of_a_socket, policies)
{
	struct pair pair = paired(ONE);
	default_is(pair.client, 0, SCTP_PR_SCTP_NONE, 0);
	WORKS(set_default(pair.client, 0, row->policy, row->value));
	default_is(pair.client, 0, row->policy, row->kept);
	SENDS(pair.client, "x");
	ARRIVES(pair.server, "x");
}

static const struct whose_row {
	const char *label;
	int id; /* -1: that of the association */
	bool one, future;
} whose[] = {
	{ "association", -1, true, false },
	{ "future", SCTP_FUTURE_ASSOC, false, true },
	{ "current", SCTP_CURRENT_ASSOC, true, false },
	{ "all", SCTP_ALL_ASSOC, true, true },
};

EACH(default_for, whose)
{
	struct pair pair = paired(MANY);
	WORKS(set_default(pair.client, row->id < 0 ? pair.client_id : row->id, SCTP_PR_SCTP_RTX, 4));
	default_is(pair.client, pair.client_id, row->one ? SCTP_PR_SCTP_RTX : 0, row->one ? 4 : 0);
	default_is(pair.client, 0, row->future ? SCTP_PR_SCTP_RTX : 0, row->future ? 4 : 0);
}

CASE(a_default_holds_for_associations_to_come)
{
	int server = listening(MANY), client = bound(MANY);
	WORKS(set_default(client, SCTP_FUTURE_ASSOC, SCTP_PR_SCTP_PRIO, 9));
	WORKS(subscribe(client, SCTP_ASSOC_CHANGE, true));
	WORKS(dial(client, port(server)));
	sctp_assoc_t id = CHANGED(client, SCTP_COMM_UP)->sac_assoc_id;
	default_is(client, id, SCTP_PR_SCTP_PRIO, 9);
}

CASE(defaults_that_are_none)
{
	struct pair pair = paired(MANY);
	struct sctp_default_prinfo got = { .pr_assoc_id = SCTP_ALL_ASSOC };
	struct sctp_sndrcvinfo old = { .sinfo_flags = SCTP_PR_SCTP_RTX, .sinfo_timetolive = 3 };
	struct sctp_sndinfo new = { .snd_flags = SCTP_PR_SCTP_RTX };
	socklen_t len = sizeof got;
	FAILS(set_default(pair.client, 0, 0x40, 1), EINVAL);
	FAILS(set_default(pair.client, 0, SCTP_PR_SCTP_ALL, 1), EINVAL);
	FAILS(set_default(pair.client, pair.client_id + 1000, SCTP_PR_SCTP_TTL, 1), EINVAL);
	FAILS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_DEFAULT_PRINFO, &got, &len), EINVAL);
	/* Other options have no policies. */
	FAILS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_DEFAULT_SEND_PARAM, &old, sizeof old), EINVAL);
	FAILS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_DEFAULT_SNDINFO, &new, sizeof new), EINVAL);
}

/* On a path that loses nothing, all arrive. */
EACH(sent_with, policies)
{
	struct pair pair = paired(ONE);
	struct sctp_prinfo info = { .pr_policy = row->policy, .pr_value = row->value };
	struct sctp_sndrcvinfo old = { .sinfo_flags = row->policy, .sinfo_timetolive = row->value };
	struct sctp_sndinfo new = { .snd_flags = row->policy };
	struct sctp_prstatus status;
	SAME(send_with(pair.client, "a", SCTP_PRINFO, &info, sizeof info), 1);
	SAME(send_with(pair.client, "b", SCTP_SNDRCV, &old, sizeof old), 1);
	WORKS(set_default(pair.client, 0, row->policy, row->value));
	SAME(send_with(pair.client, "c", SCTP_SNDINFO, &new, sizeof new), 1);
	for (const char *letter = "abc"; *letter; letter++) {
		struct message *got = receive(pair.server, 0);
		SAME(got->len, 1);
		SAME(got->data[0], *letter);
	}
	WORKS(count(pair.client, 0, -1, SCTP_PR_SCTP_ALL, &status));
	SAME(status.sprstat_abandoned_unsent, 0);
	/* A kernel counts what could not be sent again, with the next SACK. */
	if (row->policy != SCTP_PR_SCTP_RTX || row->value > 0)
		SAME(status.sprstat_abandoned_sent, 0);
}

CASE(sent_with_what_is_none)
{
	struct pair pair = paired(ONE);
	struct sctp_prinfo info = { .pr_policy = 0x40 };
	FAILS(send_with(pair.client, "x", SCTP_PRINFO, &info, sizeof info), EINVAL);
	info.pr_policy = SCTP_PR_SCTP_ALL;
	FAILS(send_with(pair.client, "x", SCTP_PRINFO, &info, sizeof info), EINVAL);
	FAILS(send_with(pair.client, "x", SCTP_PRINFO, &info, sizeof info - 1), EINVAL);
}

static const struct asked_row {
	const char *label;
	int policy, number;
} asked[] = {
	{ "none", SCTP_PR_SCTP_NONE, EINVAL },
	{ "ttl", SCTP_PR_SCTP_TTL, 0 },
	{ "rtx", SCTP_PR_SCTP_RTX, 0 },
	{ "prio", SCTP_PR_SCTP_PRIO, 0 },
	{ "all", SCTP_PR_SCTP_ALL, 0 },
	{ "all_and_one", SCTP_PR_SCTP_ALL | SCTP_PR_SCTP_TTL, EINVAL },
	{ "unknown", 0x40, EINVAL },
};

EACH(status_of, asked)
{
	struct pair pair = paired(MANY);
	struct sctp_prstatus status;
	FAILS(count(pair.client, pair.client_id, -1, row->policy, &status), row->number);
	SAME(status.sprstat_abandoned_unsent + status.sprstat_abandoned_sent, 0);
	FAILS(count(pair.client, pair.client_id, 1, row->policy, &status), row->number);
	SAME(status.sprstat_abandoned_unsent + status.sprstat_abandoned_sent, 0);
}

CASE(status_of_what_is_not_there)
{
	struct pair pair = paired(MANY);
	struct sctp_prstatus status;
	FAILS(count(pair.client, pair.client_id, 5000, SCTP_PR_SCTP_ALL, &status), EINVAL);
	for (int id = SCTP_FUTURE_ASSOC; id <= SCTP_ALL_ASSOC; id++) {
		FAILS(count(pair.client, id, -1, SCTP_PR_SCTP_ALL, &status), EINVAL);
		FAILS(count(pair.client, id, 0, SCTP_PR_SCTP_ALL, &status), EINVAL);
	}
}

/* Ways to say how long a message lives; the kernel counts those with a policy. */
enum way {
	PRINFO,
	PRINFO_AND_SNDINFO,
	SNDRCVINFO,
	SNDRCVINFO_ALONE,
	SENDMSG_CALL,
	SENDMSG_CALL_ALONE,
	SENDV_PRINFO,
	SENDV_SPA,
	DEFAULT_PRINFO,
	DEFAULT_PRINFO_AND_SNDINFO,
	DEFAULT_SEND_PARAM,
};
static const struct way_row {
	const char *label;
	enum way way;
	bool counted;
} ways[] = {
	{ "prinfo", PRINFO, true },
	{ "prinfo_and_sndinfo", PRINFO_AND_SNDINFO, true },
	{ "sndrcvinfo", SNDRCVINFO, true },
	{ "sndrcvinfo_alone", SNDRCVINFO_ALONE, false },
	{ "sctp_sendmsg", SENDMSG_CALL, true },
	{ "sctp_sendmsg_alone", SENDMSG_CALL_ALONE, false },
	{ "sctp_sendv_prinfo", SENDV_PRINFO, true },
	{ "sctp_sendv_spa", SENDV_SPA, true },
	{ "default_prinfo", DEFAULT_PRINFO, true },
	{ "default_prinfo_and_sndinfo", DEFAULT_PRINFO_AND_SNDINFO, false },
	{ "default_send_param", DEFAULT_SEND_PARAM, false },
};

/* sendmsg() with ancillary data of two types. */
static ssize_t send_with_two(int fd, struct iovec *iov, const struct sctp_prinfo *policy,
			     const struct sctp_sndinfo *rest)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof *policy) + CMSG_SPACE(sizeof *rest)];
	struct msghdr header = { .msg_iov = iov,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof control };
	memset(control, 0, sizeof control);
	struct cmsghdr *c = CMSG_FIRSTHDR(&header);
	*c = (struct cmsghdr){ .cmsg_level = IPPROTO_SCTP, .cmsg_type = SCTP_PRINFO };
	c->cmsg_len = CMSG_LEN(sizeof *policy);
	memcpy(CMSG_DATA(c), policy, sizeof *policy);
	c = CMSG_NXTHDR(&header, c);
	*c = (struct cmsghdr){ .cmsg_level = IPPROTO_SCTP, .cmsg_type = SCTP_SNDINFO };
	c->cmsg_len = CMSG_LEN(sizeof *rest);
	memcpy(CMSG_DATA(c), rest, sizeof *rest);
	return sendmsg(fd, &header, 0);
}

static ssize_t send_timed(enum way way, int fd)
{
	struct iovec iov = { filler, SIZE };
	struct sctp_prinfo policy = { .pr_policy = SCTP_PR_SCTP_TTL, .pr_value = LIFETIME };
	struct sctp_sndrcvinfo old = { .sinfo_timetolive = LIFETIME };
	struct sctp_sndinfo rest = { .snd_sid = 0 };
	struct sctp_sendv_spa spa = { .sendv_flags = SCTP_SEND_SNDINFO_VALID | SCTP_SEND_PRINFO_VALID,
				      .sendv_prinfo = policy };
	old.sinfo_flags = way == SNDRCVINFO ? SCTP_PR_SCTP_TTL : 0;
	switch (way) {
	case PRINFO:
		return send_with(fd, filler, SCTP_PRINFO, &policy, sizeof policy);
	case PRINFO_AND_SNDINFO:
		return send_with_two(fd, &iov, &policy, &rest);
	case SNDRCVINFO:
	case SNDRCVINFO_ALONE:
		return send_with(fd, filler, SCTP_SNDRCV, &old, sizeof old);
	case SENDMSG_CALL:
		return sctp_sendmsg(fd, filler, SIZE, NULL, 0, 0, SCTP_PR_SCTP_TTL, 0, LIFETIME, 0);
	case SENDMSG_CALL_ALONE:
		return sctp_sendmsg(fd, filler, SIZE, NULL, 0, 0, 0, 0, LIFETIME, 0);
	case SENDV_PRINFO:
		return sctp_sendv(fd, &iov, 1, NULL, 0, &policy, sizeof policy, SCTP_SENDV_PRINFO, 0);
	case SENDV_SPA:
		return sctp_sendv(fd, &iov, 1, NULL, 0, &spa, sizeof spa, SCTP_SENDV_SPA, 0);
	case DEFAULT_PRINFO:
		WORKS(set_default(fd, 0, SCTP_PR_SCTP_TTL, LIFETIME));
		return send(fd, filler, SIZE, 0);
	case DEFAULT_PRINFO_AND_SNDINFO:
		WORKS(set_default(fd, 0, SCTP_PR_SCTP_TTL, LIFETIME));
		return send_with(fd, filler, SCTP_SNDINFO, &rest, sizeof rest);
	case DEFAULT_SEND_PARAM:
		WORKS(setsockopt(fd, IPPROTO_SCTP, SCTP_DEFAULT_SEND_PARAM, &old, sizeof old));
		return send(fd, filler, SIZE, 0);
	}
	return -1;
}

/* Sends more than the server has room for, and a last message once the time of these is over. How many come back. */
static int timed(const struct pair *pair, enum way way, int messages)
{
	int failed = 0;
	memset(filler, 'x', SIZE - 1);
	WORKS(subscribe(pair->client, SCTP_SEND_FAILED_EVENT, true));
	for (int n = 0; n < messages; n++) {
		ssize_t want = way == PRINFO || way == SNDRCVINFO || way == SNDRCVINFO_ALONE ||
				way == DEFAULT_PRINFO_AND_SNDINFO ? SIZE - 1 : SIZE;
		SAME(send_timed(way, pair->client), want);
	}
	usleep(3 * LIFETIME * 1000);
	/* A kernel looks at what waits when something else is sent. */
	SAME(sctp_sendmsg(pair->client, "last", 4, NULL, 0, 0, 0, 0, 0, 0), 4);
	while (wait_for(pair->client, POLLIN) & POLLIN) {
		struct sctp_send_failed_event *told =
			&TOLD(pair->client, SCTP_SEND_FAILED_EVENT)->sn_send_failed_event;
		SAME(told->ssf_length > sizeof *told, true);
		failed += told->ssf_flags == SCTP_DATA_UNSENT;
	}
	return failed;
}

/* What arrives, up to the last message. */
static int drained(const struct pair *pair)
{
	for (int arrived = 0;; arrived++) {
		struct message *got = receive(pair->server, 0);
		CHECK(got->len > 0);
		if (got->len == 4)
			return arrived;
		CHECK(got->len >= SIZE - 1);
	}
}

EACH(what_is_too_late_comes_back, ways)
{
	enum { MESSAGES = 30 };
	struct pair pair = narrow(true, true);
	int failed = timed(&pair, row->way, MESSAGES);
	CHECK(failed >= 10);
	int arrived = drained(&pair);
	/* One may have been sent already, and was not taken. */
	CHECK(arrived + failed == MESSAGES || arrived + failed == MESSAGES - 1);
	if (row->counted) {
		SAME(unsent(pair.client, -1, SCTP_PR_SCTP_TTL), failed);
		SAME(unsent(pair.client, -1, SCTP_PR_SCTP_ALL), failed);
		SAME(unsent(pair.client, 0, SCTP_PR_SCTP_TTL), failed);
		SAME(unsent(pair.client, 1, SCTP_PR_SCTP_TTL), 0);
		SAME(unsent(pair.client, -1, SCTP_PR_SCTP_RTX), 0);
		SAME(unsent(pair.client, -1, SCTP_PR_SCTP_PRIO), 0);
	}
}

CASE(without_the_extension_all_arrives)
{
	struct pair pair = narrow(true, false);
	SAME(timed(&pair, PRINFO, 30), 0);
	SAME(drained(&pair), 30);
}

/* RFC 7496 §3.2: what matters less makes room, the oldest first, and nobody waits. */
CASE(what_matters_more_finds_room)
{
	enum { RELIABLE = 120, MESSAGES = 1000 };
	struct pair pair = narrow(true, true);
	struct sctp_prstatus status;
	long before = -1;
	WORKS(set_int(pair.client, SOL_SOCKET, SO_SNDBUF, 200 * SIZE));
	patience(pair.client, SO_SNDTIMEO, 3000);
	/* None of the others is sent before these. */
	for (int n = 0; n < RELIABLE; n++)
		SAME(send(pair.client, filler, SIZE, 0), SIZE);
	for (int left = MESSAGES; left > 0; left--) {
		struct sctp_sndrcvinfo info = { .sinfo_flags = SCTP_PR_SCTP_PRIO,
						.sinfo_timetolive = left };
		memset(filler, 0, SIZE);
		sprintf(filler, "%d", left);
		SAME(sctp_send(pair.client, filler, SIZE, &info, 0), SIZE);
	}
	/* A stack beside the program may still be taking what it has written. */
	for (int n = 0; n < 20; n++) {
		WORKS(count(pair.client, 0, -1, SCTP_PR_SCTP_PRIO, &status));
		if (before > 0 && (long)status.sprstat_abandoned_unsent == before)
			break;
		before = status.sprstat_abandoned_unsent;
		usleep(100000);
	}
	SAME(status.sprstat_abandoned_sent, 0);
	int expected = MESSAGES - status.sprstat_abandoned_unsent;
	CHECK(expected > 0 && expected < MESSAGES / 2);
	for (int n = 0; n < RELIABLE; n++)
		SAME(receive(pair.server, 0)->len, SIZE);
	for (; expected > 0; expected--) {
		struct message *got = receive(pair.server, 0);
		SAME(got->len, SIZE);
		SAME(atoi(got->data), expected);
	}
}
