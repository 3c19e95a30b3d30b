/* Explicit congestion notification (RFC 3168, draft-stewart-tsvwg-sctpecn): who has it. */
#include "suite.h"

/* Older headers lack it. */
#define ECN_SUPPORTED 130

static int offer(int fd, bool on)
{
	struct sctp_assoc_value set = { .assoc_value = on };
	return setsockopt(fd, IPPROTO_SCTP, ECN_SUPPORTED, &set, sizeof set);
}

static int has(int fd, sctp_assoc_t id)
{
	struct sctp_assoc_value value = { .assoc_id = id };
	socklen_t len = sizeof value;
	WORKS(getsockopt(fd, IPPROTO_SCTP, ECN_SUPPORTED, &value, &len));
	SAME(len, sizeof value);
	return value.assoc_value;
}

static const struct ends_row {
	const char *label;
	bool client, server;
} ends[] = {
	{ "neither", false, false },
	{ "client", true, false },
	{ "server", false, true },
	{ "both", true, true },
};

EACH(both_ends_must_offer_it, ends)
{
	struct pair pair = { .listener = listening(MANY), .client = bound(MANY) };
	pair.server = pair.listener;
	WORKS(offer(pair.listener, row->server));
	WORKS(offer(pair.client, row->client));
	WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, true));
	WORKS(subscribe(pair.listener, SCTP_ASSOC_CHANGE, true));
	WORKS(dial(pair.client, port(pair.listener)));
	pair.client_id = CHANGED(pair.client, SCTP_COMM_UP)->sac_assoc_id;
	pair.server_id = CHANGED(pair.server, SCTP_COMM_UP)->sac_assoc_id;
	SAME(has(pair.client, pair.client_id), row->client && row->server);
	SAME(has(pair.server, pair.server_id), row->client && row->server);
	/* What associations to come are to have is another matter. */
	SAME(has(pair.client, 0), row->client);
}
