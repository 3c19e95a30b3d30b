/* Authenticated chunks (RFC 4895, RFC 6458 §6.1.8 and §8): keys, lists, and what both ends are told. */
#include "suite.h"

/* Both ends offer it, or the client alone. */
enum offer { BOTH, CLIENT };

static int supported(int fd, sctp_assoc_t id)
{
	struct sctp_assoc_value value = { .assoc_id = id };
	socklen_t len = sizeof value;
	if (getsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_SUPPORTED, &value, &len) != 0)
		return -1;
	return value.assoc_value;
}

static void support(int fd)
{
	struct sctp_assoc_value on = { .assoc_value = 1 };
	WORKS(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_SUPPORTED, &on, sizeof on));
}

static int require(int fd, int type)
{
	struct sctp_authchunk chunk = { type };
	return setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_CHUNK, &chunk, sizeof chunk);
}

static int set_key(int fd, sctp_assoc_t id, int number, const char *secret)
{
	char room[100] = { 0 };
	struct sctp_authkey *key = (struct sctp_authkey *)room;
	key->sca_assoc_id = id;
	key->sca_keynumber = number;
	key->sca_keylength = strlen(secret);
	memcpy(room + sizeof *key, secret, strlen(secret));
	return setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_KEY, room, sizeof *key + strlen(secret));
}

static int change_key(int fd, int option, sctp_assoc_t id, int number)
{
	struct sctp_authkeyid key = { .scact_assoc_id = id, .scact_keynumber = number };
	return setsockopt(fd, IPPROTO_SCTP, option, &key, sizeof key);
}

static int active_key(int fd, sctp_assoc_t id)
{
	struct sctp_authkeyid key = { .scact_assoc_id = id };
	socklen_t len = sizeof key;
	if (getsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_ACTIVE_KEY, &key, &len) != 0)
		return -1;
	return key.scact_keynumber;
}

/* The only type of chunk in a list of them. */
static int only_chunk(int fd, int option, sctp_assoc_t id)
{
	char room[100] = { 0 };
	struct sctp_authchunks *list = (struct sctp_authchunks *)room;
	socklen_t len = sizeof room;
	list->gauth_assoc_id = id;
	if (getsockopt(fd, IPPROTO_SCTP, option, room, &len) != 0)
		return -1;
	SAME(list->gauth_number_of_chunks, 1);
	SAME(len, sizeof *list + 1);
	return (unsigned char)room[sizeof *list];
}

/* DATA is authenticated both ways, with key 1. */
static struct pair authenticated(enum offer offer, const char *secret_of_server)
{
	struct pair pair = { .listener = listening(MANY), .client = bound(MANY) };
	pair.server = pair.listener;
	for (int end = offer; end < 2; end++) {
		int fd = end ? pair.client : pair.server;
		support(fd);
		WORKS(require(fd, 0));
		WORKS(set_key(fd, 0, 1, end ? "a secret" : secret_of_server));
		WORKS(change_key(fd, SCTP_AUTH_ACTIVE_KEY, 0, 1));
	}
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, true));
	WORKS(subscribe(pair.client, SCTP_AUTHENTICATION_EVENT, true));
	WORKS(dial(pair.client, port(pair.server)));
	pair.client_id = CHANGED(pair.client, SCTP_COMM_UP)->sac_assoc_id;
	pair.server_id = CHANGED(pair.server, SCTP_COMM_UP)->sac_assoc_id;
	return pair;
}

static void told_of(const struct sctp_authkey_event *told, sctp_assoc_t id, int indication, int key)
{
	SAME(told->auth_length, sizeof *told);
	SAME(told->auth_indication, indication);
	SAME(told->auth_keynumber, key);
	SAME(told->auth_assoc_id, id);
}

//= RFC 6458 8.3.2-3
CASE(without_it_nothing_can_be_set)
{
	int fd = new_socket(ONE);
	SAME(supported(fd, 0), 0);
	FAILS(require(fd, 0), EACCES);
	FAILS(set_key(fd, 0, 1, "a secret"), EACCES);
	FAILS(change_key(fd, SCTP_AUTH_ACTIVE_KEY, 0, 0), EACCES);
	FAILS(change_key(fd, SCTP_AUTH_DEACTIVATE_KEY, 0, 0), EACCES);
	FAILS(change_key(fd, SCTP_AUTH_DELETE_KEY, 0, 0), EACCES);
	FAILS(only_chunk(fd, SCTP_LOCAL_AUTH_CHUNKS, 0), EACCES);
}

EACH(chunks_are_listed, both_kinds)
{
	int fd = new_socket(row->kind);
	support(fd);
	SAME(supported(fd, 0), 1);
	WORKS(require(fd, 0));
	WORKS(require(fd, 0));
	SAME(only_chunk(fd, SCTP_LOCAL_AUTH_CHUNKS, 0), 0);
	FAILS(only_chunk(fd, SCTP_PEER_AUTH_CHUNKS, 0), EINVAL);
}

/* RFC 4895 §3.2: INIT, INIT ACK, SHUTDOWN COMPLETE, AUTH. */
static const struct never {
	const char *label;
	int type;
} never[] = { { "init", 1 }, { "init_ack", 2 }, { "shutdown_complete", 14 }, { "auth", 15 } };

//= RFC 6458 8.3.2-1 8.3.2-2
EACH(a_chunk_that_is_never_authenticated, never)
{
	int fd = new_socket(ONE);
	support(fd);
	FAILS(require(fd, row->type), EINVAL);
}

static const struct algorithms {
	const char *label;
	uint16_t count, list[4];
	int number;
} algorithms[] = {
	{ "sha_1", 1, { 1 }, 0 },
	{ "both", 2, { 3, 1 }, 0 },
	{ "without_sha_1", 1, { 3 }, EINVAL },
	{ "none", 0, { 0 }, EINVAL },
	{ "unknown", 2, { 1, 2 }, EOPNOTSUPP },
};

//= RFC 6458 8.1.17-1
EACH(algorithms_are_chosen, algorithms)
{
	char room[100] = { 0 };
	struct sctp_hmacalgo *list = (struct sctp_hmacalgo *)room;
	socklen_t len = sizeof room, size = sizeof *list + 2 * row->count;
	int fd = new_socket(ONE);
	support(fd);
	list->shmac_num_idents = row->count;
	memcpy(room + sizeof *list, row->list, 2 * row->count);
	/* A list of none is too short to be read. */
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_HMAC_IDENT, room, size), row->number);
	memset(room, 0, sizeof room);
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_HMAC_IDENT, room, &len));
	if (row->number) {
		/* The default, RFC 4895 §6.1. */
		SAME(list->shmac_num_idents, 1);
		SAME(*(uint16_t *)(room + sizeof *list), 1);
		return;
	}
	SAME(len, size);
	SAME(list->shmac_num_idents, row->count);
	CHECK(memcmp(room + sizeof *list, row->list, 2 * row->count) == 0);
}

//= RFC 6458 8.1.18-1 8.3.4-1 8.3.5-1 8.3.5-2
EACH(keys_of_associations_to_come, both_kinds)
{
	int fd = new_socket(row->kind);
	support(fd);
	SAME(active_key(fd, 0), 0);
	FAILS(change_key(fd, SCTP_AUTH_ACTIVE_KEY, 0, 7), EINVAL);
	WORKS(set_key(fd, 0, 7, "a secret"));
	WORKS(change_key(fd, SCTP_AUTH_ACTIVE_KEY, 0, 7));
	SAME(active_key(fd, 0), 7);
	FAILS(change_key(fd, SCTP_AUTH_DELETE_KEY, 0, 7), EINVAL);
	FAILS(change_key(fd, SCTP_AUTH_DEACTIVATE_KEY, 0, 7), EINVAL);
	FAILS(change_key(fd, SCTP_AUTH_DEACTIVATE_KEY, 0, 8), EINVAL);
	WORKS(set_key(fd, 0, 8, "another secret"));
	WORKS(change_key(fd, SCTP_AUTH_DEACTIVATE_KEY, 0, 8));
	FAILS(change_key(fd, SCTP_AUTH_ACTIVE_KEY, 0, 8), EINVAL);
	WORKS(change_key(fd, SCTP_AUTH_DELETE_KEY, 0, 8));
	FAILS(change_key(fd, SCTP_AUTH_DELETE_KEY, 0, 8), EINVAL);
	WORKS(change_key(fd, SCTP_AUTH_DELETE_KEY, 0, 0));
}

CASE(a_key_that_is_longer_than_its_option)
{
	struct {
		struct sctp_authkey key;
		char secret[4];
	} set = { { .sca_keynumber = 1, .sca_keylength = 5 }, "key" };
	int fd = new_socket(ONE);
	support(fd);
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_KEY, &set, sizeof set), EINVAL);
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_KEY, &set, sizeof set.key), EINVAL);
}

static const struct odd_key {
	const char *label;
	int key;
	unsigned length, more;
	int number;
} odd_keys[] = {
	{ "highest_number", 65535, 8, 0, 0 }, { "number_0", 0, 8, 0, 0 },
	{ "no_bytes", 2, 0, 0, EINVAL },      { "no_bytes_and_some_more", 2, 0, 3, 0 },
	{ "longest", 3, 65535, 0, 0 },	      { "longest_and_some_more", 3, 65535, 5000, 0 },
};

/* Whatever they are, both ends can use them. */
EACH(keys_that_are_odd, odd_keys)
{
	static char room[80000];
	struct pair pair = authenticated(BOTH, "a secret");
	for (int end = 0; end < 2; end++) {
		int fd = end ? pair.client : pair.server;
		sctp_assoc_t id = end ? pair.client_id : pair.server_id;
		struct sctp_authkey *key = (struct sctp_authkey *)room;
		memset(room, 0x5e, sizeof room);
		key->sca_assoc_id = id;
		key->sca_keynumber = row->key;
		key->sca_keylength = row->length;
		FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_KEY, room,
				 sizeof *key + row->length + row->more),
		      row->number);
		FAILS(change_key(fd, SCTP_AUTH_ACTIVE_KEY, id, row->key), row->number);
	}
	SAME(say(&pair, true, "there"), 5);
	ARRIVES(pair.server, "there");
	SAME(active_key(pair.client, pair.client_id), row->number ? 1 : row->key);
}

CASE(data_is_authenticated)
{
	struct pair pair = authenticated(BOTH, "a secret");
	SAME(supported(pair.client, pair.client_id), 1);
	SAME(only_chunk(pair.client, SCTP_PEER_AUTH_CHUNKS, pair.client_id), 0);
	SAME(only_chunk(pair.server, SCTP_LOCAL_AUTH_CHUNKS, pair.server_id), 0);
	SAME(active_key(pair.client, pair.client_id), 1);
	SAME(say(&pair, true, "there"), 5);
	ARRIVES(pair.server, "there");
}

CASE(data_with_another_key_does_not_arrive)
{
	struct pair pair = authenticated(BOTH, "another secret");
	SAME(say(&pair, true, "there"), 5);
	CHECK(quiet(pair.server));
	/* Once both have the same key, it does, when it is sent again. */
	WORKS(set_key(pair.server, pair.server_id, 1, "a secret"));
	ARRIVES(pair.server, "there");
}

//= RFC 6458 8.1.18-2
CASE(keys_change_under_way)
{
	struct pair pair = authenticated(BOTH, "a secret");
	SAME(say(&pair, true, "first"), 5);
	ARRIVES(pair.server, "first");
	WORKS(set_key(pair.server, pair.server_id, 2, "the second"));
	WORKS(set_key(pair.client, pair.client_id, 2, "the second"));
	WORKS(subscribe(pair.server, SCTP_AUTHENTICATION_EVENT, true));
	WORKS(change_key(pair.client, SCTP_AUTH_ACTIVE_KEY, pair.client_id, 2));
	SAME(active_key(pair.client, pair.client_id), 2);
	SAME(active_key(pair.client, 0), 1);
	SAME(say(&pair, true, "second"), 6);
	told_of(&TOLD(pair.server, SCTP_AUTHENTICATION_EVENT)->sn_authkey_event, pair.server_id,
		SCTP_AUTH_NEW_KEY, 2);
	ARRIVES(pair.server, "second");
	/* Acknowledged, and so not needed any more. */
	usleep(300000);
	WORKS(change_key(pair.client, SCTP_AUTH_DEACTIVATE_KEY, pair.client_id, 1));
	told_of(&TOLD(pair.client, SCTP_AUTHENTICATION_EVENT)->sn_authkey_event, pair.client_id,
		SCTP_AUTH_FREE_KEY, 1);
	FAILS(change_key(pair.client, SCTP_AUTH_ACTIVE_KEY, pair.client_id, 1), EINVAL);
	WORKS(change_key(pair.client, SCTP_AUTH_DELETE_KEY, pair.client_id, 1));
	FAILS(change_key(pair.client, SCTP_AUTH_DELETE_KEY, pair.client_id, 2), EINVAL);
}

/* That it is used by the peer, too, is nothing new. */
CASE(a_key_that_is_active_here_is_not_told)
{
	struct pair pair = authenticated(BOTH, "a secret");
	WORKS(subscribe(pair.server, SCTP_AUTHENTICATION_EVENT, true));
	SAME(say(&pair, true, "there"), 5);
	ARRIVES(pair.server, "there");
	CHECK(quiet(pair.server));
	WORKS(set_key(pair.server, pair.server_id, 2, "the second"));
	WORKS(set_key(pair.client, pair.client_id, 2, "the second"));
	WORKS(change_key(pair.server, SCTP_AUTH_ACTIVE_KEY, pair.server_id, 2));
	WORKS(change_key(pair.client, SCTP_AUTH_ACTIVE_KEY, pair.client_id, 2));
	SAME(say(&pair, true, "again"), 5);
	ARRIVES(pair.server, "again");
	CHECK(quiet(pair.server));
}

//= RFC 6458 6.1.1-2
CASE(the_peer_does_not_authenticate)
{
	struct pair pair = authenticated(CLIENT, NULL);
	told_of(&TOLD(pair.client, SCTP_AUTHENTICATION_EVENT)->sn_authkey_event, pair.client_id,
		SCTP_AUTH_NO_AUTH, 0);
	SAME(supported(pair.client, pair.client_id), 0);
	FAILS(set_key(pair.client, pair.client_id, 2, "a secret"), EACCES);
	FAILS(only_chunk(pair.client, SCTP_PEER_AUTH_CHUNKS, pair.client_id), EACCES);
	SAME(say(&pair, true, "there"), 5);
	ARRIVES(pair.server, "there");
}

static const struct named {
	const char *label;
	enum { CMSG, SENDV, SPA } how;
	int key, number;
} named[] = {
	{ "active", CMSG, 1, 0 },	 { "another", CMSG, 2, 0 },    { "unknown", CMSG, 3, EINVAL },
	{ "sendv", SENDV, 2, 0 },	 { "sendv_spa", SPA, 2, 0 },   { "sendv_unknown", SENDV, 3, EINVAL },
	{ "sendv_spa_unknown", SPA, 3, EINVAL },
};

static ssize_t send_named(int fd, const char *text, const struct named *named)
{
	struct sctp_authinfo info = { named->key };
	struct sctp_sendv_spa spa = { .sendv_flags = SCTP_SEND_AUTHINFO_VALID, .sendv_authinfo = info };
	struct iovec part = { .iov_base = (void *)text, .iov_len = strlen(text) };

	if (named->how == CMSG)
		return send_with(fd, text, SCTP_AUTHINFO, &info, sizeof info);
	if (named->how == SENDV)
		return sctp_sendv(fd, &part, 1, NULL, 0, &info, sizeof info, SCTP_SENDV_AUTHINFO, 0);
	return sctp_sendv(fd, &part, 1, NULL, 0, &spa, sizeof spa, SCTP_SENDV_SPA, 0);
}

/* RFC 6458 §5.3.8. */
EACH(a_message_names_its_key, named)
{
	struct pair pair = authenticated(BOTH, "a secret");
	int client;
	WORKS(set_key(pair.server, pair.server_id, 2, "the second"));
	WORKS(set_key(pair.client, pair.client_id, 2, "the second"));
	client = sctp_peeloff(pair.client, pair.client_id);
	CHECK(client >= 0);
	SENDS(client, "first");
	ARRIVES(pair.server, "first");
	WORKS(subscribe(pair.server, SCTP_AUTHENTICATION_EVENT, true));
	FAILS(send_named(client, "there", row), row->number);
	if (row->number == 0 && row->key == 2)
		told_of(&TOLD(pair.server, SCTP_AUTHENTICATION_EVENT)->sn_authkey_event,
			pair.server_id, SCTP_AUTH_NEW_KEY, 2);
	if (row->number == 0)
		ARRIVES(pair.server, "there");
	/* It holds for that message alone. */
	SAME(active_key(client, 0), 1);
	WORKS(subscribe(pair.server, SCTP_AUTHENTICATION_EVENT, false));
	SENDS(client, "last");
	ARRIVES(pair.server, "last");
}
