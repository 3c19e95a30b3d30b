/* Every option of RFC 6458 section 8 is what was set, or fails as documented. */
#include "test.h"

enum { PORT = 5041 };

static int fd, many;

static int get(int s, int option, void *value, socklen_t len)
{
	socklen_t size = len;
	int result = getsockopt(s, IPPROTO_SCTP, option, value, &size);
	CHECK(result != 0 || size == len);
	return result;
}

/* An integer goes in and comes out. */
static void integer(int s, int option, int value)
{
	int back = -1;
	CHECK(on(s, option, value) == 0);
	CHECK(get(s, option, &back, sizeof back) == 0);
	if (back != value)
		fprintf(stderr, "option %d: %d instead of %d\n", option, back, value);
	CHECK(back == value);
}

//= RFC 6458 8.1.1-2 8.1.2-1 8.1.2-2
static void structures(void)
{
	struct sctp_rtoinfo rto = { .srto_initial = 800, .srto_max = 9000, .srto_min = 200 }, rto2;
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto) == 0);
	memset(&rto2, 0, sizeof rto2);
	CHECK(get(fd, SCTP_RTOINFO, &rto2, sizeof rto2) == 0);
	CHECK(rto2.srto_initial == 800 && rto2.srto_max == 9000 && rto2.srto_min == 200);

	struct sctp_assocparams params;
	memset(&params, 0, sizeof params);
	params.sasoc_asocmaxrxt = 7;
	params.sasoc_cookie_life = 30000;
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_ASSOCINFO, &params, sizeof params) == 0);
	memset(&params, 0, sizeof params);
	CHECK(get(fd, SCTP_ASSOCINFO, &params, sizeof params) == 0);
	CHECK(params.sasoc_asocmaxrxt == 7 && params.sasoc_cookie_life == 30000);
	/* 0 changes nothing. */
	params.sasoc_asocmaxrxt = params.sasoc_cookie_life = 0;
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_ASSOCINFO, &params, sizeof params) == 0);
	CHECK(get(fd, SCTP_ASSOCINFO, &params, sizeof params) == 0);
	CHECK(params.sasoc_asocmaxrxt == 7 && params.sasoc_cookie_life == 30000);

	struct sctp_initmsg init = { 33, 44, 3, 700 };
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init) == 0);
	memset(&init, 0, sizeof init);
	CHECK(get(fd, SCTP_INITMSG, &init, sizeof init) == 0);
	CHECK(init.sinit_num_ostreams == 33 && init.sinit_max_instreams == 44);
	CHECK(init.sinit_max_attempts == 3);

	struct sctp_sack_info sack = { 0, 150, 3 };
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_DELAYED_SACK, &sack, sizeof sack) == 0);
	memset(&sack, 0, sizeof sack);
	CHECK(get(fd, SCTP_DELAYED_SACK, &sack, sizeof sack) == 0);
	CHECK(sack.sack_delay == 150 && sack.sack_freq == 3);
	sack.sack_delay = 501;
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_DELAYED_SACK, &sack, sizeof sack), EINVAL);

	struct sctp_paddrparams path;
	memset(&path, 0, sizeof path);
	path.spp_hbinterval = 4000;
	path.spp_pathmaxrxt = 4;
	path.spp_flags = SPP_HB_ENABLE;
	path.spp_address.ss_family = family;
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path) == 0);
	memset(&path, 0, sizeof path);
	path.spp_address.ss_family = family;
	CHECK(get(fd, SCTP_PEER_ADDR_PARAMS, &path, sizeof path) == 0);
	CHECK(path.spp_hbinterval == 4000 && path.spp_pathmaxrxt == 4);
	CHECK(path.spp_flags & SPP_HB_ENABLE);

	struct sctp_sndinfo how = { 3, SCTP_UNORDERED, 5, 6, 0 };
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_DEFAULT_SNDINFO, &how, sizeof how) == 0);
	memset(&how, 0, sizeof how);
	CHECK(get(fd, SCTP_DEFAULT_SNDINFO, &how, sizeof how) == 0);
	CHECK(how.snd_sid == 3 && how.snd_flags == SCTP_UNORDERED && how.snd_context == 6);
	struct sctp_sndrcvinfo old;
	memset(&old, 0, sizeof old);
	CHECK(get(fd, SCTP_DEFAULT_SEND_PARAM, &old, sizeof old) == 0);
	CHECK(old.sinfo_stream == 3 && old.sinfo_ppid == 5);

	struct sctp_assoc_value pair = { 0, 6 };
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_MAX_BURST, &pair, sizeof pair) == 0);
	pair.assoc_value = 0;
	CHECK(get(fd, SCTP_MAX_BURST, &pair, sizeof pair) == 0 && pair.assoc_value == 6);
	pair.assoc_value = 99;
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_CONTEXT, &pair, sizeof pair) == 0);
	pair.assoc_value = 0;
	CHECK(get(fd, SCTP_CONTEXT, &pair, sizeof pair) == 0 && pair.assoc_value == 99);
	pair.assoc_value = 1200;
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_MAXSEG, &pair, sizeof pair) == 0);
	pair.assoc_value = 0;
	CHECK(get(fd, SCTP_MAXSEG, &pair, sizeof pair) == 0 && pair.assoc_value == 1200);
	pair.assoc_value = 70000;
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_MAXSEG, &pair, sizeof pair), EINVAL);

	struct sctp_udpencaps udp;
	memset(&udp, 0, sizeof udp);
	udp.sue_address.ss_family = family;
	udp.sue_port = htons(9900);
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &udp, sizeof udp) == 0);
	udp.sue_port = 0;
	CHECK(get(fd, SCTP_REMOTE_UDP_ENCAPS_PORT, &udp, sizeof udp) == 0);
	CHECK(udp.sue_port == htons(9900));

	struct sctp_setadaptation layer = { 0xdeadbeef };
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, &layer, sizeof layer) == 0);
	layer.ssb_adaptation_ind = 0;
	CHECK(get(fd, SCTP_ADAPTATION_LAYER, &layer, sizeof layer) == 0);
	CHECK(layer.ssb_adaptation_ind == 0xdeadbeef);
}

//= RFC 6458 8.1.20-1 8.1.20-2
static void integers(void)
{
	int value, flags[] = { SCTP_NODELAY, SCTP_DISABLE_FRAGMENTS, SCTP_I_WANT_MAPPED_V4_ADDR,
			       SCTP_RECVRCVINFO, SCTP_RECVNXTINFO, SCTP_REUSE_PORT };

	/* The last one is for one-to-one sockets. */
	for (size_t n = 0; n < sizeof flags / sizeof *flags - many; n++) {
		integer(fd, flags[n], 1);
		integer(fd, flags[n], 0);
	}
	if (many)
		FAILS(on(fd, SCTP_REUSE_PORT, 1), EOPNOTSUPP);
	/* Section 8.1.20. */
	CHECK(get(fd, SCTP_FRAGMENT_INTERLEAVE, &value, sizeof value) == 0 && value == many);
	integer(fd, SCTP_FRAGMENT_INTERLEAVE, 0);
	integer(fd, SCTP_FRAGMENT_INTERLEAVE, 1);
	FAILS(on(fd, SCTP_FRAGMENT_INTERLEAVE, 2), EINVAL);
	FAILS(on(fd, SCTP_FRAGMENT_INTERLEAVE, 3), EINVAL);
	CHECK(on(fd, SCTP_RECVRCVINFO, 1) == 0);
	integer(fd, SCTP_FRAGMENT_INTERLEAVE, 2);
	/* Section 8.1.21: no more than the receive buffer. */
	socklen_t len = sizeof value;
	CHECK(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, &len) == 0);
	integer(fd, SCTP_PARTIAL_DELIVERY_POINT, 5000);
	FAILS(on(fd, SCTP_PARTIAL_DELIVERY_POINT, value + 1), EINVAL);
	if (many)
		integer(fd, SCTP_AUTOCLOSE, 30);
	else
		FAILS(on(fd, SCTP_AUTOCLOSE, 30), EOPNOTSUPP);
}

static void refused(void)
{
	struct sctp_setpeerprim prim;
	struct sctp_status status;
	char byte = 0;

	memset(&prim, 0, sizeof prim);
	memset(&status, 0, sizeof status);
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_SET_PEER_PRIMARY_ADDR, &prim, sizeof prim), EPERM);
	/* Section 8.2: read-only. */
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_STATUS, &status, sizeof status), ENOPROTOOPT);
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_CHUNK, &byte, 1), EACCES);
	FAILS(on(fd, 999, 1), ENOPROTOOPT);
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &byte, 1), EINVAL);
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &prim, 3), EINVAL);
	FAILS(get(fd, SCTP_STATUS, &status, sizeof status), EINVAL);
}

/* The sizes of the socket, and of an association. */
static void live(void)
{
	int server = listener(SOCK_STREAM, PORT), there;
	int here = pair(server, PORT, &there);
	struct sctp_status status;
	struct sctp_assoc_stats stats;
	struct linger linger = { 1, 3 };
	int value;
	socklen_t len = sizeof value;

	CHECK(get(here, SCTP_STATUS, &status, sizeof status) == 0);
	CHECK(status.sstat_state == SCTP_ESTABLISHED);
	CHECK(status.sstat_outstrms == 10 && status.sstat_primary.spinfo_state == SCTP_ACTIVE);
	CHECK(port_of(&status.sstat_primary.spinfo_address) == PORT);
	CHECK(send(here, "x", 1, 0) == 1);
	CHECK(recv(there, &value, 1, 0) == 1);
	memset(&stats, 0, sizeof stats);
	CHECK(get(there, SCTP_GET_ASSOC_STATS, &stats, sizeof stats) == 0);
	CHECK(stats.sas_iodchunks == 1 && stats.sas_ipackets >= 1);
	CHECK(stats.sas_obs_rto_ipaddr.ss_family == family);
	CHECK(getsockopt(here, SOL_SOCKET, SO_TYPE, &value, &len) == 0 && value == SOCK_STREAM);
	CHECK(getsockopt(here, SOL_SOCKET, SO_PROTOCOL, &value, &len) == 0 && value == IPPROTO_SCTP);
	CHECK(getsockopt(here, SOL_SOCKET, SO_DOMAIN, &value, &len) == 0 && value == family);
	CHECK(getsockopt(server, SOL_SOCKET, SO_ACCEPTCONN, &value, &len) == 0 && value == 1);
	CHECK(setsockopt(here, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
	memset(&linger, 0, sizeof linger);
	len = sizeof linger;
	CHECK(getsockopt(here, SOL_SOCKET, SO_LINGER, &linger, &len) == 0);
	CHECK(linger.l_onoff && linger.l_linger == 3);
	/* Waits until the association has ended. */
	close(here);
	CHECK(recv(there, &value, 1, 0) == 0);
	close(there);
	close(server);
}

int main(int argc, char **argv)
{
	start(argc, argv);
	for (many = 0; many < 2; many++) {
		fd = socket(family, many ? SOCK_SEQPACKET : SOCK_STREAM, IPPROTO_SCTP);
		CHECK(fd >= 0);
		structures();
		integers();
		refused();
		close(fd);
	}
	live();
	return 0;
}
