/* Stream reconfiguration (RFC 6525 §6): who may ask for what, and what both ends are told. */
#include "suite.h"

#define ALL_REQUESTS                                                                            \
	(SCTP_ENABLE_RESET_STREAM_REQ | SCTP_ENABLE_RESET_ASSOC_REQ | SCTP_ENABLE_CHANGE_ASSOC_REQ)

/* Older headers lack these. */
#ifndef SCTP_RESET_ASSOC
#define SCTP_RESET_ASSOC 120
#endif

struct streams {
	sctp_assoc_t id;
	uint16_t flags, count, list[4];
};

/* The end of a listener and of a client offer the extension. */
static struct pair with_extension(bool server_allows)
{
	struct pair pair = { .listener = listening(MANY), .client = bound(MANY) };
	const int told[] = { SCTP_STREAM_RESET_EVENT, SCTP_ASSOC_RESET_EVENT, SCTP_STREAM_CHANGE_EVENT };
	pair.server = pair.listener;
	for (int end = 0; end < 2; end++) {
		int fd = end ? pair.client : pair.server;
		WORKS(set_value(fd, SCTP_RECONFIG_SUPPORTED, 0, 1));
		if (end || server_allows)
			WORKS(set_value(fd, SCTP_ENABLE_STREAM_RESET, 0, ALL_REQUESTS));
		for (unsigned n = 0; n < sizeof told / sizeof told[0]; n++)
			WORKS(subscribe(fd, told[n], true));
		WORKS(set_int(fd, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
		WORKS(subscribe(fd, SCTP_ASSOC_CHANGE, true));
	}
	WORKS(dial(pair.client, port(pair.server)));
	pair.client_id = CHANGED(pair.client, SCTP_COMM_UP)->sac_assoc_id;
	pair.server_id = CHANGED(pair.server, SCTP_COMM_UP)->sac_assoc_id;
	return pair;
}

static int reset(const struct pair *pair, int flags, int stream)
{
	struct streams streams = { pair->client_id, flags, stream >= 0, { stream } };
	return setsockopt(pair->client, IPPROTO_SCTP, SCTP_RESET_STREAMS, &streams,
			  8 + 2 * streams.count);
}

/* Sends a message on a stream, from the client or the server, and checks its SSN at the other end. */
static void numbered(const struct pair *pair, bool from_client, int stream, int ssn)
{
	int fd = from_client ? pair->client : pair->server;
	struct sctp_sndinfo info = { .snd_sid = stream,
				     .snd_assoc_id = from_client ? pair->client_id : pair->server_id };
	SAME(send_with(fd, "data", SCTP_SNDINFO, &info, sizeof info), 4);
	struct message *got = receive(from_client ? pair->server : pair->client, 0);
	SAME(got->len, 4);
	CHECK(got->has_rcv);
	SAME(got->rcv.rcv_sid, stream);
	SAME(got->rcv.rcv_ssn, ssn);
}

/* Everything that was sent is acknowledged, and the timer for that is over. */
static void settled(void)
{
	usleep(300000);
}

CASE(nothing_is_enabled)
{
	struct pair pair = paired(MANY);
	SAME(get_value(pair.client, SCTP_RECONFIG_SUPPORTED, 0), 0);
	SAME(get_value(pair.client, SCTP_RECONFIG_SUPPORTED, pair.client_id), 0);
	SAME(get_value(pair.client, SCTP_ENABLE_STREAM_RESET, pair.client_id), 0);
	FAILS(reset(&pair, SCTP_STREAM_RESET_OUTGOING, 1), ENOPROTOOPT);
}

CASE(both_ends_must_offer_it)
{
	int server = listening(MANY), client = bound(MANY);
	WORKS(set_value(client, SCTP_RECONFIG_SUPPORTED, 0, 1));
	SAME(get_value(client, SCTP_RECONFIG_SUPPORTED, 0), 1);
	WORKS(subscribe(client, SCTP_ASSOC_CHANGE, true));
	WORKS(dial(client, port(server)));
	struct pair pair = { .client = client, .server = server };
	pair.client_id = CHANGED(client, SCTP_COMM_UP)->sac_assoc_id;
	SAME(get_value(client, SCTP_RECONFIG_SUPPORTED, pair.client_id), 0);
	WORKS(set_value(client, SCTP_ENABLE_STREAM_RESET, pair.client_id, ALL_REQUESTS));
	FAILS(reset(&pair, SCTP_STREAM_RESET_OUTGOING, 1), ENOPROTOOPT);
}

CASE(bits_that_are_not_there)
{
	FAILS(set_value(new_socket(ONE), SCTP_ENABLE_STREAM_RESET, 0, 8), EINVAL);
	FAILS(set_value(new_socket(MANY), SCTP_ENABLE_STREAM_RESET, 99, 1), EINVAL);
}

CASE(a_wish_for_associations_to_come)
{
	struct pair pair = with_extension(true);
	SAME(get_value(pair.client, SCTP_RECONFIG_SUPPORTED, pair.client_id), 1);
	SAME(get_value(pair.client, SCTP_ENABLE_STREAM_RESET, pair.client_id), ALL_REQUESTS);
	SAME(get_value(pair.server, SCTP_ENABLE_STREAM_RESET, pair.server_id), ALL_REQUESTS);
}

CASE(an_outgoing_stream_begins_again)
{
	struct pair pair = with_extension(true);
	numbered(&pair, true, 3, 0);
	numbered(&pair, true, 4, 0);
	numbered(&pair, true, 3, 1);
	settled();
	WORKS(reset(&pair, SCTP_STREAM_RESET_OUTGOING, 3));
	struct sctp_stream_reset_event *told = &TOLD(pair.client, SCTP_STREAM_RESET_EVENT)->sn_strreset_event;
	SAME(told->strreset_flags, SCTP_STREAM_RESET_OUTGOING_SSN);
	SAME(told->strreset_length, sizeof *told + 2);
	SAME(told->strreset_assoc_id, pair.client_id);
	SAME(told->strreset_stream_list[0], 3);
	told = &TOLD(pair.server, SCTP_STREAM_RESET_EVENT)->sn_strreset_event;
	SAME(told->strreset_flags, SCTP_STREAM_RESET_INCOMING_SSN);
	SAME(told->strreset_length, sizeof *told + 2);
	SAME(told->strreset_stream_list[0], 3);
	numbered(&pair, true, 3, 0);
	numbered(&pair, true, 4, 1);
}

CASE(all_outgoing_streams_begin_again)
{
	struct pair pair = with_extension(true);
	numbered(&pair, true, 3, 0);
	numbered(&pair, true, 4, 0);
	settled();
	WORKS(reset(&pair, SCTP_STREAM_RESET_OUTGOING, -1));
	SAME(TOLD(pair.client, SCTP_STREAM_RESET_EVENT)->sn_strreset_event.strreset_flags,
	     SCTP_STREAM_RESET_OUTGOING_SSN);
	TOLD(pair.server, SCTP_STREAM_RESET_EVENT);
	numbered(&pair, true, 3, 0);
	numbered(&pair, true, 4, 0);
}

CASE(an_incoming_stream_begins_again)
{
	struct pair pair = with_extension(true);
	numbered(&pair, false, 2, 0);
	settled();
	WORKS(reset(&pair, SCTP_STREAM_RESET_INCOMING, 2));
	struct sctp_stream_reset_event *told = &TOLD(pair.client, SCTP_STREAM_RESET_EVENT)->sn_strreset_event;
	SAME(told->strreset_flags, SCTP_STREAM_RESET_INCOMING_SSN);
	SAME(told->strreset_stream_list[0], 2);
	SAME(TOLD(pair.server, SCTP_STREAM_RESET_EVENT)->sn_strreset_event.strreset_flags,
	     SCTP_STREAM_RESET_OUTGOING_SSN);
	numbered(&pair, false, 2, 0);
}

CASE(the_peer_denies_it)
{
	struct pair pair = with_extension(false);
	numbered(&pair, true, 3, 0);
	settled();
	WORKS(reset(&pair, SCTP_STREAM_RESET_OUTGOING, 3));
	SAME(TOLD(pair.client, SCTP_STREAM_RESET_EVENT)->sn_strreset_event.strreset_flags,
	     SCTP_STREAM_RESET_OUTGOING_SSN | SCTP_STREAM_RESET_DENIED);
	CHECK(quiet(pair.server));
	numbered(&pair, true, 3, 1);
}

CASE(streams_that_are_not_there)
{
	struct pair pair = with_extension(true);
	FAILS(reset(&pair, SCTP_STREAM_RESET_OUTGOING, 10), EINVAL);
	FAILS(reset(&pair, SCTP_STREAM_RESET_INCOMING, 10), EINVAL);
	FAILS(reset(&pair, 0, 1), EINVAL);
	struct streams cut = { pair.client_id, SCTP_STREAM_RESET_OUTGOING, 3, { 1, 2 } };
	FAILS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_RESET_STREAMS, &cut, 12), EINVAL);
}

CASE(all_begins_again)
{
	struct pair pair = with_extension(true);
	numbered(&pair, true, 3, 0);
	numbered(&pair, false, 4, 0);
	settled();
	WORKS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_RESET_ASSOC, &pair.client_id,
			 sizeof pair.client_id));
	struct sctp_assoc_reset_event told = TOLD(pair.client, SCTP_ASSOC_RESET_EVENT)->sn_assocreset_event;
	SAME(told.assocreset_flags, 0);
	SAME(told.assocreset_length, sizeof told);
	struct sctp_assoc_reset_event *there = &TOLD(pair.server, SCTP_ASSOC_RESET_EVENT)->sn_assocreset_event;
	SAME(there->assocreset_flags, 0);
	SAME(there->assocreset_local_tsn, told.assocreset_remote_tsn);
	SAME(there->assocreset_remote_tsn, told.assocreset_local_tsn);
	numbered(&pair, true, 3, 0);
	numbered(&pair, false, 4, 0);
}

CASE(streams_are_added)
{
	struct pair pair = with_extension(true);
	struct sctp_add_streams add = { .sas_assoc_id = pair.client_id, .sas_outstrms = 5 };
	WORKS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_ADD_STREAMS, &add, sizeof add));
	struct sctp_stream_change_event *told = &TOLD(pair.client, SCTP_STREAM_CHANGE_EVENT)->sn_strchange_event;
	SAME(told->strchange_flags, 0);
	SAME(told->strchange_length, sizeof *told);
	TOLD(pair.server, SCTP_STREAM_CHANGE_EVENT);
	numbered(&pair, true, 14, 0);
	struct sctp_status status = { .sstat_assoc_id = pair.client_id };
	socklen_t len = sizeof status;
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_STATUS, &status, &len));
	SAME(status.sstat_outstrms, 15);
	SAME(status.sstat_instrms, 10);
}

CASE(incoming_streams_are_added)
{
	struct pair pair = with_extension(true);
	struct sctp_add_streams add = { .sas_assoc_id = pair.client_id, .sas_instrms = 2 };
	WORKS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_ADD_STREAMS, &add, sizeof add));
	TOLD(pair.client, SCTP_STREAM_CHANGE_EVENT);
	TOLD(pair.server, SCTP_STREAM_CHANGE_EVENT);
	numbered(&pair, false, 11, 0);
}
