/* Explicit congestion notification (RFC 3168, draft-stewart-tsvwg-sctpecn): who has it. */
#include "suite.h"

/* Older headers lack it. */
#define ECN_SUPPORTED 130

EACH(both_ends_must_offer_it, all_ends)
{
	struct pair pair = { .listener = listening(MANY), .client = bound(MANY) };
	pair.server = pair.listener;
	WORKS(set_value(pair.listener, ECN_SUPPORTED, 0, row->server));
	WORKS(set_value(pair.client, ECN_SUPPORTED, 0, row->client));
	WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, true));
	WORKS(subscribe(pair.listener, SCTP_ASSOC_CHANGE, true));
	WORKS(dial(pair.client, port(pair.listener)));
	pair.client_id = CHANGED(pair.client, SCTP_COMM_UP)->sac_assoc_id;
	pair.server_id = CHANGED(pair.server, SCTP_COMM_UP)->sac_assoc_id;
	SAME(get_value(pair.client, ECN_SUPPORTED, pair.client_id), row->client && row->server);
	SAME(get_value(pair.server, ECN_SUPPORTED, pair.server_id), row->client && row->server);
	/* What associations to come are to have is another matter. */
	SAME(get_value(pair.client, ECN_SUPPORTED, 0), row->client);
}
