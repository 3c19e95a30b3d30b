/* Every option on sockets of every kind and in every state: whether it can be read and written there,
 * how long its value is, and what becomes of lengths and associations that are wrong. */
#include "suite.h"

/* States of a socket that matter to options. */
enum state { FRESH_ONE, FRESH_MANY, LIVE_ONE, LIVE_MANY, LIVE_PEELED, STATES };

/* An option: where its value has the association and an address, -1 for nowhere; what reading it and
 * writing back what was read give in each state, and for other lengths on a new one-to-one socket. */
struct option {
	const char *label;
	int option;
	unsigned size;
	int association, address;
	int get[STATES], set[STATES];
	int get_short, get_long, set_short, set_long, stranger;
};

static const struct option options[] = {
#include "options.inc"
};

/* A socket, and what an association of it is called. */
struct place {
	int fd;
	sctp_assoc_t id;
	const struct pair *pair;
};

static struct place place_for(enum state state)
{
	static struct pair pair;
	enum kind kind = state == LIVE_ONE ? ONE : state == LIVE_MANY ? MANY : PEELED;
	if (state < LIVE_ONE)
		return (struct place){ new_socket(state == FRESH_ONE ? ONE : MANY), 0, NULL };
	pair = paired(kind);
	return (struct place){ pair.client, pair.client_id, &pair };
}

/* What goes into the value: the association, and the peer's address. */
static void fill(const struct option *option, const struct place *place, char *value)
{
	const uint16_t type = SCTP_ASSOC_CHANGE, all = SCTP_PR_SCTP_ALL;
	memset(value, 0, 600);
	if (option->option == SCTP_EVENT)
		memcpy(value + offsetof(struct sctp_event, se_type), &type, sizeof type);
	if (option->option == SCTP_PR_ASSOC_STATUS || option->option == SCTP_PR_STREAM_STATUS)
		memcpy(value + offsetof(struct sctp_prstatus, sprstat_policy), &all, sizeof all);
	if (option->association >= 0)
		memcpy(value + option->association, &place->id, sizeof place->id);
	if (option->address >= 0 && place->pair) {
		socklen_t len;
		struct sockaddr *at = server_address(place->pair, &len);
		memcpy(value + option->address, at, len);
	}
}

static int get(const struct option *option, const struct place *place, char *value, socklen_t *len)
{
	fill(option, place, value);
	return getsockopt(place->fd, IPPROTO_SCTP, option->option, value, len);
}

static int set(const struct option *option, const struct place *place, const char *value, socklen_t len)
{
	return setsockopt(place->fd, IPPROTO_SCTP, option->option, value, len);
}

static void in_state(const struct option *option, enum state state)
{
	struct place place = place_for(state);
	char value[600];
	socklen_t len = option->size;
	FAILS(get(option, &place, value, &len), option->get[state]);
	if (option->get[state] == 0)
		SAME(len, option->size);
	else
		fill(option, &place, value);
	FAILS(set(option, &place, value, option->size), option->set[state]);
	if (option->get[state] == 0 && option->set[state] == 0) {
		/* What was read and written is read again. */
		char again[600];
		len = option->size;
		WORKS(get(option, &place, again, &len));
		CHECK(memcmp(value, again, len) == 0);
	}
}

EACH(on_a_new_one_to_one_socket, options)
{
	in_state(row, FRESH_ONE);
}

EACH(on_a_new_one_to_many_socket, options)
{
	in_state(row, FRESH_MANY);
}

EACH(on_a_connected_socket, options)
{
	in_state(row, LIVE_ONE);
}

EACH(of_an_association, options)
{
	in_state(row, LIVE_MANY);
}

EACH(on_a_peeled_off_socket, options)
{
	in_state(row, LIVE_PEELED);
}

/* A value that is a byte too short, and one with room for more. */
EACH(of_another_length, options)
{
	struct place place = place_for(FRESH_ONE);
	char value[600];
	socklen_t len = row->size - 1;
	FAILS(get(row, &place, value, &len), row->get_short);
	len = row->size + 8;
	FAILS(get(row, &place, value, &len), row->get_long);
	/* Linux does not say how long this one is. */
	if (row->get_long == 0 && row->option != SCTP_MAX_BURST)
		SAME(len, row->size);
	len = row->size;
	if (get(row, &place, value, &len) != 0)
		fill(row, &place, value);
	FAILS(set(row, &place, value, row->size - 1), row->set_short);
	FAILS(set(row, &place, value, row->size + 8), row->set_long);
}

/* An association that is not there. */
EACH(of_no_association, options)
{
	struct place place = place_for(LIVE_MANY);
	char value[600];
	socklen_t len = row->size;
	if (row->association < 0)
		return;
	place.id += 1000;
	place.pair = NULL;
	FAILS(get(row, &place, value, &len), row->stranger);
}

/* Options of an association: where it stands in their value, and whether they can be set for SCTP_CURRENT_ASSOC and
 * SCTP_ALL_ASSOC. */
static const struct group {
	const char *label;
	int option;
	socklen_t size;
	size_t at;
	bool set;
} groups[] = {
	{ "rtoinfo", SCTP_RTOINFO, sizeof(struct sctp_rtoinfo), 0, false },
	{ "associnfo", SCTP_ASSOCINFO, sizeof(struct sctp_assocparams), 0, false },
	{ "peer_addr_params", SCTP_PEER_ADDR_PARAMS, sizeof(struct sctp_paddrparams), 0, false },
	{ "maxseg", SCTP_MAXSEG, sizeof(struct sctp_assoc_value), 0, false },
	{ "default_send_param", SCTP_DEFAULT_SEND_PARAM, 32, 28, true },
	{ "default_sndinfo", SCTP_DEFAULT_SNDINFO, 16, 12, true },
	{ "delayed_sack", SCTP_DELAYED_SACK, sizeof(struct sctp_sack_info), 0, true },
	{ "context", SCTP_CONTEXT, sizeof(struct sctp_assoc_value), 0, true },
	{ "max_burst", SCTP_MAX_BURST, sizeof(struct sctp_assoc_value), 0, true },
};

EACH(of_groups_of_associations, groups)
{
	struct pair pair = paired(MANY);
	for (int id = SCTP_CURRENT_ASSOC; id <= SCTP_ALL_ASSOC; id++) {
		char value[200] = { 0 };
		socklen_t len = row->size;
		memcpy(value + row->at, &id, sizeof id);
		FAILS(getsockopt(pair.client, IPPROTO_SCTP, row->option, value, &len), EINVAL);
		FAILS(setsockopt(pair.client, IPPROTO_SCTP, row->option, value, row->size),
		      row->set ? 0 : EINVAL);
	}
}
