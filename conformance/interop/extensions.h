/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/*
 * What a peer of peer.h asks of its stack beyond RFC 9260. It is included there, behind what a stack provides.
 */

#ifndef TRESSE_PEER_EXTENSIONS_H
#define TRESSE_PEER_EXTENSIONS_H

#include "failure.h"

/* RFC 6525 §6.3.2: our outgoing streams begin again, or those of the other end. */
static int reset_streams(peer_socket sock, bool ours)
{
	union {
		struct sctp_reset_streams request;
		uint16_t room[sizeof(struct sctp_reset_streams) / 2 + 2048];
	} all = { .request = {
		.srs_flags = ours ? SCTP_STREAM_RESET_OUTGOING : SCTP_STREAM_RESET_INCOMING,
		.srs_number_streams = options.streams,
	} };

	for (uint16_t i = 0; i < options.streams; i++)
		all.request.srs_stream_list[i] = i;
	return stack_set(sock, SCTP_RESET_STREAMS, &all,
	    (socklen_t)(sizeof(all.request) + 2u * options.streams));
}

/* A call has failed because it cannot be asked for now: usrsctp tells of an answer before it is ready for the next request. */
static bool not_now(void)
{
	return errno == EAGAIN || errno == EINPROGRESS || errno == EBUSY || errno == EALREADY;
}

/* Asks until it can be asked for. */
static void reset(peer_socket sock, bool ours)
{
	while (reset_streams(sock, ours) != 0) {
		if (!not_now())
			fail("reset of %s streams: %s", ours ? "our" : "the other end's", strerror(errno));
		usleep(1000);
	}
}

/* RFC 6525 §6.3.3: all streams of both directions begin again, and the TSNs; once nothing is outstanding. */
static void reset_all(peer_socket sock)
{
	sctp_assoc_t association = 0;

	while (stack_set(sock, SCTP_RESET_ASSOC, &association, sizeof(association)) != 0) {
		if (!not_now())
			fail("reset of everything: %s", strerror(errno));
		usleep(1000);
	}
	/* A stack may go on with the old TSNs meanwhile, although RFC 6525 §5.1.4 C2 says that it must not. */
	usleep(300000);
}

/* How often the other end has refused what it was asked for. */
static _Atomic unsigned denials;

/* RFC 6525 §6.1.1, §6.1.3: what became of a request of ours, or what the other end has done. */
static void on_reconfiguration(const union sctp_notification *note)
{
	const struct sctp_stream_reset_event *reset = &note->sn_strreset_event;
	const struct sctp_stream_change_event *change = &note->sn_strchange_event;
	bool resets = note->sn_header.sn_type == SCTP_STREAM_RESET_EVENT;
	bool denied = resets ? reset->strreset_flags & SCTP_STREAM_RESET_DENIED :
	    change->strchange_flags & SCTP_STREAM_CHANGE_DENIED;

	if (!denied)
		fail("%s was not denied", resets ? "a reset" : "a change of streams");
	printf("DENIED %s\n", resets ? "a reset" : "more streams");
	fflush(stdout);
	denials++;
}

/* Asks for resets in both directions and for more streams, one after the other, and is denied all of that. */
static void be_denied(peer_socket sock)
{
	struct sctp_add_streams more = { .sas_outstrms = 1 };

	for (unsigned request = 0; request < 3; request++) {
		if (request < 2) {
			reset(sock, request == 0);
		} else {
			while (stack_set(sock, SCTP_ADD_STREAMS, &more, sizeof(more)) != 0) {
				if (!not_now())
					fail("more streams: %s", strerror(errno));
				usleep(1000);
			}
		}
		while (denials <= request)
			usleep(1000);
	}
}

/* Hears what becomes of requests. */
static void hear_of_changes(peer_socket sock)
{
	static const uint16_t types[] = { SCTP_STREAM_RESET_EVENT, SCTP_STREAM_CHANGE_EVENT };

	for (size_t i = 0; options.denied_at != UINT64_MAX && i < 2; i++) {
		struct sctp_event event = {
			.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = types[i], .se_on = 1,
		};
		if (stack_set(sock, SCTP_EVENT, &event, sizeof(event)) != 0)
			fail("event %#x: %s", types[i], strerror(errno));
	}
}

/* RFC 7496 §3.2: when a message is given up. */
static void choose_policy(struct sctp_prinfo *policy, uint64_t index)
{
	if (options.prioritized) {
		/* On each stream every second message matters. */
		policy->pr_policy = PEER_PRIORITY;
		policy->pr_value = options.priorities[index / options.streams % 2];
	} else if (options.timed) {
		policy->pr_policy = SCTP_PR_SCTP_TTL;
		policy->pr_value = options.lifetime;
	} else {
		policy->pr_policy = SCTP_PR_SCTP_RTX;
		policy->pr_value = options.retransmissions;
	}
}

static uint16_t outgoing_streams(peer_socket sock)
{
	struct sctp_status status = { 0 };
	socklen_t length = sizeof(status);

	if (stack_get(sock, SCTP_STATUS, &status, &length) != 0)
		fail("status: %s", strerror(errno));
	return status.sstat_outstrms;
}

/* RFC 6525 §6.3.4: more of them in each direction. */
static void add_streams(peer_socket sock)
{
	uint16_t more = options.streams - options.initial_streams;
	struct sctp_add_streams request = { .sas_instrms = more, .sas_outstrms = more };

	if (options.add_streams && stack_set(sock, SCTP_ADD_STREAMS, &request, sizeof(request)) != 0)
		fail("more streams: %s", strerror(errno));
	while (options.send_messages > 0 && outgoing_streams(sock) < options.streams)
		usleep(1000);
}

/* RFC 4895: chunks are authenticated with this key from now on. */
static void activate_key(peer_socket sock, uint16_t number)
{
	struct sctp_authkeyid key = { .scact_keynumber = number };

	if (stack_set(sock, SCTP_AUTH_ACTIVE_KEY, &key, sizeof(key)) != 0)
		fail("key %u: %s", number, strerror(errno));
}

/* RFC 6458 §8.3.2: a key of the endpoint, or, once there is an association, of that. */
static void set_key(peer_socket sock, uint16_t number, const char *secret)
{
	union {
		struct sctp_authkey key;
		uint8_t room[sizeof(struct sctp_authkey) + 64];
	} one = { .key = { .sca_keynumber = number, .sca_keylength = (uint16_t)strlen(secret) } };

	memcpy(one.key.sca_key, secret, strlen(secret));
	if (stack_set(sock, SCTP_AUTH_KEY, &one, (socklen_t)(sizeof(one.key) + strlen(secret))) != 0)
		fail("key %u: %s", number, strerror(errno));
}

/* Nothing is authenticated with a key any more that was deactivated. */
static _Atomic bool key_is_free;

/* RFC 6458 §6.1.8 */
static void on_key(const union sctp_notification *note)
{
	/* The union has another name for it in each stack. */
	const struct sctp_authkey_event *event = (const struct sctp_authkey_event *)note;

	key_is_free |= event->auth_indication == SCTP_AUTH_FREE_KEY;
}

/* RFC 6458 §8.3.4, §8.3.5: key 1 is used no more, and then it is no more. */
static void delete_key(peer_socket sock)
{
	struct sctp_authkeyid key = { .scact_keynumber = 1 };

	if (stack_set(sock, SCTP_AUTH_DEACTIVATE_KEY, &key, sizeof(key)) != 0)
		fail("key 1 stays active: %s", strerror(errno));
	while (!key_is_free)
		usleep(1000);
	if (stack_set(sock, SCTP_AUTH_DELETE_KEY, &key, sizeof(key)) != 0)
		fail("key 1 stays: %s", strerror(errno));
	if (stack_set(sock, SCTP_AUTH_ACTIVE_KEY, &key, sizeof(key)) == 0)
		fail("key 1 is still there");
	puts("DELETED 1");
	fflush(stdout);
}

/* Whether the sender waits for a notification: somebody has to read it. */
static bool awaits_news(void)
{
	return (options.denied_at != UINT64_MAX && denials < 3) ||
	    (options.delete_key_at != UINT64_MAX && !key_is_free);
}

static const char *const secrets[] = { "the first secret", "the second secret" };

/* DATA is taken with an HMAC only, and there are two keys; the first one is active. */
static void authenticate(peer_socket sock)
{
	struct sctp_assoc_value offer = { .assoc_value = 1 };
	struct sctp_authchunk data = { .sauth_chunk = 0 };
	struct sctp_event keys = {
		.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = SCTP_AUTHENTICATION_EVENT, .se_on = 1,
	};
	uint32_t count = with("sha-1") ? 1 : 2;
	union {
		struct sctp_hmacalgo list;
		uint8_t room[sizeof(struct sctp_hmacalgo) + 2 * sizeof(uint16_t)];
	} hmacs = { .list = { .shmac_number_of_idents = count } };

	if (!with("auth"))
		return;
	/* RFC 4895 §6.1: nobody may leave SHA-1 out. The other end takes the first one that it knows. */
	hmacs.list.shmac_idents[0] = SCTP_AUTH_HMAC_ID_SHA256;
	hmacs.list.shmac_idents[count - 1] = SCTP_AUTH_HMAC_ID_SHA1;
	if (stack_set(sock, SCTP_AUTH_SUPPORTED, &offer, sizeof(offer)) != 0 ||
	    (PEER_SHA_256 && stack_set(sock, SCTP_HMAC_IDENT, &hmacs,
	        (socklen_t)(sizeof(hmacs.list) + count * sizeof(uint16_t))) != 0) ||
	    stack_set(sock, SCTP_AUTH_CHUNK, &data, sizeof(data)) != 0)
		fail("authentication: %s", strerror(errno));
	set_key(sock, 1, secrets[0]);
	set_key(sock, 2, options.association_key ? "not that of the association" : secrets[1]);
	activate_key(sock, 1);
	if (options.delete_key_at != UINT64_MAX && stack_set(sock, SCTP_EVENT, &keys, sizeof(keys)) != 0)
		fail("the event of keys: %s", strerror(errno));
}

/* What the association has in the place of its endpoint's. */
static void authenticate_association(peer_socket sock)
{
	if (options.association_key)
		set_key(sock, 2, secrets[1]);
}

#ifndef SCTP_ASCONF_SUPPORTED
#define SCTP_ASCONF_SUPPORTED PEER_ASCONF
#endif

/* RFC 5061: addresses may change, which takes authentication. */
__attribute__((unused))
static void allow_changes(peer_socket sock)
{
	struct sctp_assoc_value on = { .assoc_value = 1 };

	if (!with("asconf"))
		return;
	if (stack_set(sock, SCTP_AUTH_SUPPORTED, &on, sizeof(on)) != 0 ||
	    stack_set(sock, SCTP_ASCONF_SUPPORTED, &on, sizeof(on)) != 0)
		fail("changes of addresses: %s", strerror(errno));
}

/* RFC 6458 §8.1.24: the other end is told of the addresses that the host gets and loses. The socket is bound to all of them. */
__attribute__((unused))
static void follow_host(peer_socket sock)
{
	int on = 1;

	if (with("auto-asconf") && stack_set(sock, SCTP_AUTO_ASCONF, &on, sizeof(on)) != 0)
		fail("changes of the host's addresses: %s", strerror(errno));
}

/* Address number `n` of a list. */
static void listed_address(struct sockaddr_in *out, const char *at, uint16_t port, int n)
{
	char text[INET_ADDRSTRLEN] = "";

	while (n-- > 0 && (at = strchr(at, ',')) != NULL)
		at++;
	memset(out, 0, sizeof(*out));
	out->sin_family = AF_INET;
	out->sin_port = htons(port);
	if (at == NULL || strcspn(at, ",") >= sizeof(text))
		fail("two addresses of IPv4 are needed");
	strncat(text, at, strcspn(at, ","));
	if (inet_pton(AF_INET, text, &out->sin_addr) != 1)
		fail("not an IPv4 address: %s", text);
}

/* RFC 6458 §5.3.4: some messages go to the second address of the other end, once that is known to work. */
static bool choose_address(struct sockaddr_in *to, uint64_t index)
{
	uint64_t every = options.destine_every;

	if (every == 0 || index < options.send_messages / 2 || index % every != every - 1)
		return false;
	listed_address(to, options.peer, options.peer_port, 1);
	return true;
}

/* RFC 6458 §8.1.12: the second address of the other end is asked often, the first one not at all. */
static void ask_second(peer_socket sock)
{
	for (int n = 0; options.ask_second != 0 && n < 2; n++) {
		struct sctp_paddrparams path = {
			.spp_flags = n == 0 ? SPP_HB_DISABLE : SPP_HB_ENABLE,
			.spp_hbinterval = n == 0 ? 0 : options.ask_second,
		};
		struct sockaddr_in address;

		listed_address(&address, options.peer, options.peer_port, n);
		memcpy(&path.spp_address, &address, sizeof(address));
		if (stack_set(sock, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path)) != 0)
			fail("heartbeats of address %d: %s", n, strerror(errno));
	}
}

/* The second address goes, comes back, and is where data is to come; then the first one goes. */
static void readdress(peer_socket sock, uint64_t step)
{
	struct sctp_setpeerprim primary = { 0 };
	struct sockaddr_in address;

	if (step > 3)
		return;
	listed_address(&address, options.address, options.port, step < 3 ? 1 : 0);
	if (step == 2) {
		memcpy(&primary.sspp_addr, &address, sizeof(address));
		if (stack_set(sock, SCTP_SET_PEER_PRIMARY_ADDR, &primary, sizeof(primary)) != 0)
			fail("peer primary: %s", strerror(errno));
	} else if (stack_bindx(sock, (struct sockaddr *)&address, step == 1) != 0) {
		fail("step %d of the changes: %s", (int)step, strerror(errno));
	}
}

#ifndef SCTP_INTERLEAVING_SUPPORTED
#define SCTP_INTERLEAVING_SUPPORTED PEER_INTERLEAVING
#endif

/* RFC 8260: messages of several streams leave and come at a time, chunk by chunk. */
static void interleave(peer_socket sock)
{
	struct sctp_assoc_value on = { .assoc_value = 1 };
	int level = 2;

	if (!with("interleaving"))
		return;
	/* In this order: RFC 8260 §4.3.1. */
	if (stack_set(sock, SCTP_FRAGMENT_INTERLEAVE, &level, sizeof(level)) != 0)
		fail("fragment interleave: %s", strerror(errno));
	if (stack_set(sock, SCTP_INTERLEAVING_SUPPORTED, &on, sizeof(on)) != 0)
		fail("interleaving: %s", strerror(errno));
}

/* RFC 8260 §4.3.2: which stream sends next; in turn, if nothing else is wanted and messages are interleaved. */
static void choose_scheduler(peer_socket sock)
{
	static const struct {
		const char *name;
		uint32_t number;
	} all[] = { PEER_SCHEDULERS };
	const char *name = with("interleaving") ? "round-robin" : NULL;

	if (options.scheduler != NULL)
		name = options.scheduler;
	if (name == NULL)
		return;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct sctp_assoc_value value = { .assoc_value = all[i].number };
		if (strcmp(all[i].name, name) != 0)
			continue;
		if (stack_set(sock, PEER_SCHEDULER, &value, sizeof(value)) != 0)
			fail("scheduler %s: %s", name, strerror(errno));
		return;
	}
	fail("no scheduler %s", name);
}

/* RFC 8260 §4.3.3: priorities, of which the least one matters most, or weights. */
static void value_streams(peer_socket sock)
{
	bool ranked = options.scheduler != NULL && strcmp(options.scheduler, "priority") == 0;
	bool weighted = options.scheduler != NULL && strcmp(options.scheduler, "weighted-fair-queueing") == 0;

	for (uint16_t i = 0; (ranked || weighted) && i < options.streams; i++) {
		struct {
			sctp_assoc_t association;
			uint16_t stream, value;
		} value = { .stream = i, .value = (uint16_t)(ranked ? options.streams - 1 - i : i + 1) };
		if (stack_set(sock, PEER_STREAM_VALUE, &value, sizeof(value)) != 0)
			fail("the value of stream %u: %s", i, strerror(errno));
	}
}

#endif
