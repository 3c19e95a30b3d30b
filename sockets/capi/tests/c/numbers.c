/* sctp_opt_info (RFC 6458 section 9.14) asks for the association of its number, whatever stood in the value. */
#include <stddef.h>

#include "test.h"

#ifdef TEST_LKSCTP
#define SCTP_PKTDROP_SUPPORTED 1049
#endif

enum { PORT = 5047 };

/* An option that can be read, where its value has the association, and how long it is. */
struct option {
	const char *name;
	int number;
	size_t place;
	socklen_t len;
};

#define OPTION(name, type, member) { #name, name, offsetof(type, member), sizeof(type) }
/* A value that ends with a list. */
#define LIST(name, type, member) { #name, name, offsetof(type, member), 512 }

static const struct option options[] = {
	OPTION(SCTP_RTOINFO, struct sctp_rtoinfo, srto_assoc_id),
	OPTION(SCTP_ASSOCINFO, struct sctp_assocparams, sasoc_assoc_id),
	OPTION(SCTP_PRIMARY_ADDR, struct sctp_setprim, ssp_assoc_id),
	OPTION(SCTP_PEER_ADDR_PARAMS, struct sctp_paddrparams, spp_assoc_id),
	OPTION(SCTP_DEFAULT_SEND_PARAM, struct sctp_sndrcvinfo, sinfo_assoc_id),
	OPTION(SCTP_MAXSEG, struct sctp_assoc_value, assoc_id),
	OPTION(SCTP_STATUS, struct sctp_status, sstat_assoc_id),
	OPTION(SCTP_GET_PEER_ADDR_INFO, struct sctp_paddrinfo, spinfo_assoc_id),
	OPTION(SCTP_DELAYED_SACK, struct sctp_sack_info, sack_assoc_id),
	OPTION(SCTP_CONTEXT, struct sctp_assoc_value, assoc_id),
	OPTION(SCTP_MAX_BURST, struct sctp_assoc_value, assoc_id),
	OPTION(SCTP_AUTH_ACTIVE_KEY, struct sctp_authkeyid, scact_assoc_id),
	LIST(SCTP_PEER_AUTH_CHUNKS, struct sctp_authchunks, gauth_assoc_id),
	LIST(SCTP_LOCAL_AUTH_CHUNKS, struct sctp_authchunks, gauth_assoc_id),
	OPTION(SCTP_PEER_ADDR_THLDS, struct sctp_paddrthlds, spt_assoc_id),
	OPTION(SCTP_DEFAULT_SNDINFO, struct sctp_sndinfo, snd_assoc_id),
	OPTION(SCTP_PEER_ADDR_THLDS_V2, struct sctp_paddrthlds_v2, spt_assoc_id),
	{ "SCTP_GET_PEER_ADDRS", SCTP_GET_PEER_ADDRS, 0, 512 },
	{ "SCTP_GET_LOCAL_ADDRS", SCTP_GET_LOCAL_ADDRS, 0, 512 },
	OPTION(SCTP_GET_ASSOC_STATS, struct sctp_assoc_stats, sas_assoc_id),
	OPTION(SCTP_PR_SUPPORTED, struct sctp_assoc_value, assoc_id),
	OPTION(SCTP_DEFAULT_PRINFO, struct sctp_default_prinfo, pr_assoc_id),
	OPTION(SCTP_PR_ASSOC_STATUS, struct sctp_prstatus, sprstat_assoc_id),
	OPTION(SCTP_PR_STREAM_STATUS, struct sctp_prstatus, sprstat_assoc_id),
	OPTION(SCTP_RECONFIG_SUPPORTED, struct sctp_assoc_value, assoc_id),
	OPTION(SCTP_ENABLE_STREAM_RESET, struct sctp_assoc_value, assoc_id),
	OPTION(SCTP_STREAM_SCHEDULER, struct sctp_assoc_value, assoc_id),
	OPTION(SCTP_STREAM_SCHEDULER_VALUE, struct sctp_stream_value, assoc_id),
	OPTION(SCTP_INTERLEAVING_SUPPORTED, struct sctp_assoc_value, assoc_id),
	OPTION(SCTP_EVENT, struct sctp_event, se_assoc_id),
	OPTION(SCTP_ASCONF_SUPPORTED, struct sctp_assoc_value, assoc_id),
	OPTION(SCTP_AUTH_SUPPORTED, struct sctp_assoc_value, assoc_id),
	OPTION(SCTP_ECN_SUPPORTED, struct sctp_assoc_value, assoc_id),
	OPTION(SCTP_EXPOSE_POTENTIALLY_FAILED_STATE, struct sctp_assoc_value, assoc_id),
	OPTION(SCTP_REMOTE_UDP_ENCAPS_PORT, struct sctp_udpencaps, sue_assoc_id),
	OPTION(SCTP_PLPMTUD_PROBE_INTERVAL, struct sctp_probeinterval, spi_assoc_id),
	OPTION(SCTP_PKTDROP_SUPPORTED, struct sctp_assoc_value, assoc_id),
};

static struct sockaddr_storage peer;

/* Asks for an option of an association, and checks that it is as it should be. */
static int is_right(int fd, const struct option *option, sctp_assoc_t id, int error)
{
	char value[512] __attribute__((aligned(8))) = { 0 };
	socklen_t len = option->len;
	sctp_assoc_t told;

	if (option->number == SCTP_GET_PEER_ADDR_INFO)
		memcpy(value + offsetof(struct sctp_paddrinfo, spinfo_address), &peer, sizeof peer);
	if (option->number == SCTP_EVENT)
		((struct sctp_event *)value)->se_type = SCTP_ASSOC_CHANGE;
	if (option->number == SCTP_PR_ASSOC_STATUS || option->number == SCTP_PR_STREAM_STATUS)
		((struct sctp_prstatus *)value)->sprstat_policy = SCTP_PR_SCTP_ALL;
	errno = 0;
	int result = sctp_opt_info(fd, id, option->number, value, &len);
	memcpy(&told, value + option->place, sizeof told);
	if (error ? result == -1 && errno == error : result == 0 && told == id)
		return 1;
	fprintf(stderr, "%s of %d: %d (%s), tells of %d\n", option->name, id, result, strerror(errno), told);
	return 0;
}

//= RFC 6458 8-4
int main(int argc, char **argv)
{
	start(argc, argv);
	int server = socket(family, SOCK_SEQPACKET, IPPROTO_SCTP);
	int client = socket(family, SOCK_SEQPACKET, IPPROTO_SCTP);
	CHECK(server >= 0 && client >= 0);
	struct sctp_assoc_value pair = { SCTP_FUTURE_ASSOC, 1 };
	CHECK(setsockopt(server, IPPROTO_SCTP, SCTP_AUTH_SUPPORTED, &pair, sizeof pair) == 0);
	CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_AUTH_SUPPORTED, &pair, sizeof pair) == 0);
	CHECK(setsockopt(server, IPPROTO_SCTP, SCTP_PKTDROP_SUPPORTED, &pair, sizeof pair) == 0);
	CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_PKTDROP_SUPPORTED, &pair, sizeof pair) == 0);
	socklen_t len = name(&peer, loopback, PORT);
	CHECK(bind(server, (struct sockaddr *)&peer, len) == 0 && listen(server, 5) == 0);
	sctp_assoc_t id = 0;
	CHECK(sctp_connectx(client, (struct sockaddr *)&peer, 1, &id) == 0 && id > SCTP_ALL_ASSOC);

	struct sctp_assoc_value agreed = { id, 0 };
	len = sizeof agreed;
	CHECK(getsockopt(client, IPPROTO_SCTP, SCTP_PKTDROP_SUPPORTED, &agreed, &len) == 0);
	CHECK(agreed.assoc_id == id && agreed.assoc_value == 1);

	int wrong = 0;
	for (size_t n = 0; n < sizeof options / sizeof *options; n++) {
		wrong += !is_right(client, &options[n], id, 0);
		wrong += !is_right(client, &options[n], id + 1000, EINVAL);
	}
	CHECK(wrong == 0);

	/* Of an association, what fits into a packet; of those to come, what was set for them. */
	pair.assoc_value = 600;
	CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_MAXSEG, &pair, sizeof pair) == 0);
	len = sizeof pair;
	CHECK(sctp_opt_info(client, id, SCTP_MAXSEG, &pair, &len) == 0 && pair.assoc_value > 600);
	CHECK(sctp_opt_info(client, 0, SCTP_MAXSEG, &pair, &len) == 0 && pair.assoc_value == 600);

	/* An integer has no association: what is in it, and behind it, is nobody's. */
	int old[] = { 12345, 67890 };
	len = sizeof *old;
	CHECK(sctp_opt_info(client, id, SCTP_MAXSEG, old, &len) == 0 && old[0] == 600);
	old[0] = 12345;
	CHECK(sctp_opt_info(client, id, SCTP_MAX_BURST, old, &len) == 0 && old[0] != 12345);
	/* Nothing is written behind a value that is too short for it. */
	char small[32] = { 0 };
	len = 4;
	sctp_opt_info(client, id, SCTP_DEFAULT_SNDINFO, small, &len);
	CHECK(memcmp(small + 4, (char[28]){ 0 }, 28) == 0 && old[1] == 67890);
	close(client);
	close(server);
	return 0;
}
