/* One-to-many sockets: several associations, identifiers, peeling off. */
#include "suite.h"

static int association_count(int fd)
{
	return get_int(fd, IPPROTO_SCTP, SCTP_GET_ASSOC_NUMBER);
}

//= RFC 6458 1-1
CASE(numbers_of_associations)
{
	int server = listening(MANY);
	SAME(association_count(server), 0);
	struct pair first = joined(server), second = joined(server);
	SAME(association_count(server), 2);
	CHECK(first.server_id != second.server_id);
}

CASE(list_of_associations)
{
	struct pair first = paired(MANY), second = joined(first.server);
	char room[100];
	struct sctp_assoc_ids *ids = (void *)room;
	socklen_t len = sizeof room;
	WORKS(getsockopt(first.server, IPPROTO_SCTP, SCTP_GET_ASSOC_ID_LIST, ids, &len));
	SAME(len, 12);
	SAME(ids->gaids_number_of_ids, 2);
	CHECK(ids->gaids_assoc_id[0] == first.server_id || ids->gaids_assoc_id[0] == second.server_id);
}

//= RFC 6458 8.2.6-2
CASE(list_of_associations_in_too_little_room)
{
	struct pair first = paired(MANY), second = joined(first.server);
	char room[8];
	socklen_t len = sizeof room;
	(void)second;
	FAILS(getsockopt(first.server, IPPROTO_SCTP, SCTP_GET_ASSOC_ID_LIST, room, &len), EINVAL);
}

CASE(list_of_associations_of_a_one_to_one_socket)
{
	struct pair pair = paired(ONE);
	char room[100];
	socklen_t len = sizeof room;
	FAILS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_GET_ASSOC_ID_LIST, room, &len),
	      EOPNOTSUPP);
	len = 4;
	FAILS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_GET_ASSOC_NUMBER, room, &len), EOPNOTSUPP);
}

CASE(messages_of_several_peers)
{
	struct pair first = paired(MANY), second = joined(first.server);
	WORKS(set_int(first.server, IPPROTO_SCTP, SCTP_RECVRCVINFO, 1));
	CHECK(say(&first, true, "first") == 5);
	CHECK(say(&second, true, "second") == 6);
	for (int n = 0; n < 2; n++) {
		struct message *got = receive(first.server, 0);
		SAME(got->rcv.rcv_assoc_id, got->len == 5 ? first.server_id : second.server_id);
		SAME(port_of(&got->from), port(got->len == 5 ? first.client : second.client));
	}
}

CASE(sent_to_the_right_peer)
{
	struct pair first = paired(MANY), second = joined(first.server);
	CHECK(say(&first, false, "one") == 3);
	CHECK(say(&second, false, "two") == 3);
	ARRIVES(first.client, "one");
	ARRIVES(second.client, "two");
}

CASE(association_by_address_without_id)
{
	struct pair first = paired(MANY), second = joined(first.server);
	struct sockaddr_in to;
	socklen_t len = address(&to, loopback(), port(second.client));
	SAME(sendto(first.server, "two", 3, 0, (struct sockaddr *)&to, len), 3);
	ARRIVES(second.client, "two");
}

//= RFC 6458 3.1.2-2
CASE(one_to_many_socket_that_does_not_listen_refuses)
{
	FAILS(dial(new_socket(ONE), port(bound(MANY))), ECONNREFUSED);
}

CASE(both_kinds_talk_to_each_other)
{
	int many = listening(MANY), one = new_socket(ONE);
	WORKS(dial(one, port(many)));
	SENDS(one, "hello");
	struct message *got = receive(many, 0);
	SAME(got->len, 5);
	SAME(sendto(many, "back", 4, 0, (struct sockaddr *)&got->from, got->from_len), 4);
	ARRIVES(one, "back");
}

CASE(peeled_off_with_unread_data)
{
	struct pair pair = paired(MANY);
	say(&pair, true, "waiting");
	CHECK(wait_for(pair.server, POLLIN) & POLLIN);
	int fd = sctp_peeloff(pair.server, pair.server_id);
	CHECK(fd >= 0);
	CHECK(wait_for(fd, POLLIN) & POLLIN);
	ARRIVES(fd, "waiting");
	CHECK(quiet(pair.server));
}

/* Sends until there is no room for a while; how many. */
static int fill(int fd, sctp_assoc_t id)
{
	static char message[20000];
	struct sctp_sndinfo info = { .snd_assoc_id = id };
	char control[CMSG_SPACE(sizeof info)] = { 0 };
	struct iovec part = { message, sizeof message };
	struct msghdr to = { .msg_iov = &part, .msg_iovlen = 1 };
	int sent = 0;
	to.msg_control = control;
	to.msg_controllen = sizeof control;
	struct cmsghdr *head = CMSG_FIRSTHDR(&to);
	head->cmsg_level = IPPROTO_SCTP;
	head->cmsg_type = SCTP_SNDINFO;
	head->cmsg_len = CMSG_LEN(sizeof info);
	memcpy(CMSG_DATA(head), &info, sizeof info);
	/* A stack beside the program may still be taking what it has written. */
	for (int refused = 0; refused < 20;) {
		memcpy(message, &sent, sizeof sent);
		if (sendmsg(fd, &to, MSG_DONTWAIT) < 0) {
			int number = errno;
			SAME(number, EAGAIN);
			refused++;
			usleep(10000);
		} else {
			refused = 0;
			sent++;
		}
	}
	return sent;
}

/* What was sent before goes on, although there was no room yet, and the others go on, too. */
CASE(peeled_off_with_unsent_data)
{
	struct pair first = paired(MANY), second = joined(first.server);
	int sent = fill(first.server, first.server_id);
	CHECK(sent > 1);
	int fd = sctp_peeloff(first.server, first.server_id);
	CHECK(fd >= 0);
	patience(first.client, SO_RCVTIMEO, 3000);
	for (int n = 0; n < sent; n++) {
		struct message *got = receive(first.client, 0);
		SAME(got->len, 20000);
		int number;
		memcpy(&number, got->data, sizeof number);
		SAME(number, n);
	}
	SENDS(fd, "next");
	ARRIVES(first.client, "next");
	patience(second.server, SO_SNDTIMEO, 1000);
	CHECK(say(&second, false, "second") == 6);
	ARRIVES(second.client, "second");
}

//= RFC 6458 3.1-3 3.1-4
CASE(peeled_off_leaves_the_others)
{
	struct pair first = paired(MANY), second = joined(first.server);
	int fd = sctp_peeloff(first.server, first.server_id);
	CHECK(fd >= 0);
	say(&second, true, "second");
	ARRIVES(first.server, "second");
	say(&first, true, "first");
	ARRIVES(fd, "first");
	SAME(association_count(first.server), 1);
}

CASE(peeled_off_is_one_to_one)
{
	struct pair pair = paired(PEELED);
	/* Linux: a one-to-many socket made it. */
	SAME(get_int(pair.client, SOL_SOCKET, SO_TYPE), SOCK_SEQPACKET);
	struct sockaddr_in at;
	socklen_t len = sizeof at;
	WORKS(getpeername(pair.client, (struct sockaddr *)&at, &len));
}

CASE(peeled_off_survives_its_parent)
{
	struct pair pair = paired(MANY);
	int fd = sctp_peeloff(pair.client, pair.client_id);
	CHECK(fd >= 0);
	close(pair.client);
	SENDS(fd, "alive");
	ARRIVES(pair.server, "alive");
}

CASE(peeled_off_close_is_told)
{
	struct pair pair = paired(PEELED);
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	close(pair.client);
	CHANGED(pair.server, SCTP_SHUTDOWN_COMP);
}

static const struct wrong_peel {
	const char *label;
	enum kind kind;
	int offset, number;
} wrong_peels[] = {
	{ "one_to_one", ONE, 0, EINVAL },
	{ "unknown_id", MANY, 1000, EINVAL },
	{ "peeled_off", PEELED, 0, EINVAL },
};

EACH(peel_off_wrong, wrong_peels)
{
	struct pair pair = paired(row->kind);
	FAILS(sctp_peeloff(pair.client, pair.client_id + row->offset), row->number);
}

CASE(peel_off_0)
{
	struct pair pair = paired(MANY);
	FAILS(sctp_peeloff(pair.client, 0), EINVAL);
}

//= RFC 6458 3.1-4
CASE(peel_off_twice)
{
	struct pair pair = paired(MANY);
	CHECK(sctp_peeloff(pair.client, pair.client_id) >= 0);
	FAILS(sctp_peeloff(pair.client, pair.client_id), EINVAL);
}

CASE(peel_off_flags)
{
	struct pair pair = paired(MANY);
	struct {
		sctp_assoc_t id;
		int fd, flags;
	} peel = { pair.client_id, -1, SOCK_NONBLOCK | SOCK_CLOEXEC };
	socklen_t len = sizeof peel;
	/* SCTP_SOCKOPT_PEELOFF_FLAGS; not every libsctp has sctp_peeloff_flags(). */
	int fd = getsockopt(pair.client, IPPROTO_SCTP, 122, &peel, &len);
	CHECK(fd >= 0);
	SAME(peel.fd, fd);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

//= RFC 6458 8-2
CASE(options_of_one_association)
{
	struct pair first = paired(MANY), second = joined(first.server);
	struct sctp_rtoinfo rto = { .srto_assoc_id = first.server_id, .srto_min = 800 };
	socklen_t len = sizeof rto;
	WORKS(setsockopt(first.server, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto));
	WORKS(getsockopt(first.server, IPPROTO_SCTP, SCTP_RTOINFO, &rto, &len));
	SAME(rto.srto_min, 800);
	rto.srto_assoc_id = second.server_id;
	WORKS(getsockopt(first.server, IPPROTO_SCTP, SCTP_RTOINFO, &rto, &len));
	CHECK(rto.srto_min != 800);
	rto.srto_assoc_id = 0;
	WORKS(getsockopt(first.server, IPPROTO_SCTP, SCTP_RTOINFO, &rto, &len));
	CHECK(rto.srto_min != 800);
}

CASE(options_of_associations_to_come)
{
	struct pair first = paired(MANY);
	struct sctp_rtoinfo rto = { .srto_min = 800 };
	socklen_t len = sizeof rto;
	WORKS(setsockopt(first.server, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto));
	struct pair second = joined(first.server);
	rto.srto_assoc_id = first.server_id;
	WORKS(getsockopt(first.server, IPPROTO_SCTP, SCTP_RTOINFO, &rto, &len));
	CHECK(rto.srto_min != 800);
	rto.srto_assoc_id = second.server_id;
	WORKS(getsockopt(first.server, IPPROTO_SCTP, SCTP_RTOINFO, &rto, &len));
	SAME(rto.srto_min, 800);
}

CASE(autoclose_ends_idle_associations)
{
	int server = listening(MANY), client = bound(MANY), second = 1;
	WORKS(setsockopt(server, IPPROTO_SCTP, SCTP_AUTOCLOSE, &second, sizeof second));
	WORKS(subscribe(client, SCTP_SHUTDOWN_EVENT, true));
	WORKS(dial(client, port(server)));
	long long before = clock_ms();
	SAME(receive(client, 0)->flags & MSG_NOTIFICATION, MSG_NOTIFICATION);
	CHECK(clock_ms() - before >= 800);
}

//= RFC 6458 8.1.8-1
CASE(autoclose_of_0_closes_nothing)
{
	int server = listening(MANY), client = bound(MANY), seconds = 1;
	SAME(get_int(server, IPPROTO_SCTP, SCTP_AUTOCLOSE), 0);
	WORKS(setsockopt(server, IPPROTO_SCTP, SCTP_AUTOCLOSE, &seconds, sizeof seconds));
	seconds = 0;
	WORKS(setsockopt(server, IPPROTO_SCTP, SCTP_AUTOCLOSE, &seconds, sizeof seconds));
	WORKS(subscribe(client, SCTP_SHUTDOWN_EVENT, true));
	WORKS(dial(client, port(server)));
	usleep(1300000);
	CHECK(!(now(client, POLLIN) & POLLIN));
	SAME(association_count(server), 1);
}

CASE(status_of_an_association)
{
	struct pair pair = paired(MANY);
	struct sctp_status status = { .sstat_assoc_id = pair.client_id };
	socklen_t len = sizeof status;
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_STATUS, &status, &len));
	SAME(status.sstat_state, SCTP_ESTABLISHED);
	SAME(status.sstat_assoc_id, pair.client_id);
	SAME(status.sstat_instrms, 10);
	SAME(status.sstat_outstrms, 10);
	SAME(status.sstat_unackdata, 0);
	SAME(status.sstat_penddata, 0);
	CHECK(status.sstat_rwnd > 0);
	CHECK(status.sstat_fragmentation_point > 500);
	SAME(status.sstat_primary.spinfo_state, SCTP_ACTIVE);
	SAME(port_of(&status.sstat_primary.spinfo_address), port(pair.listener));
}

CASE(opt_info_gives_the_association)
{
	struct pair pair = paired(MANY);
	struct sctp_status status = { 0 };
	socklen_t len = sizeof status;
	WORKS(sctp_opt_info(pair.client, pair.client_id, SCTP_STATUS, &status, &len));
	SAME(status.sstat_assoc_id, pair.client_id);
	SAME(status.sstat_state, SCTP_ESTABLISHED);
}

CASE(opt_info_of_nobody)
{
	struct pair pair = paired(MANY);
	struct sctp_status status = { 0 };
	socklen_t len = sizeof status;
	FAILS(sctp_opt_info(pair.client, pair.client_id + 1000, SCTP_STATUS, &status, &len), EINVAL);
}

/* Values that options refuse, or round. */
CASE(rto_bounds_are_in_order)
{
	struct sctp_rtoinfo rto = { .srto_min = 3000, .srto_max = 2000 };
	FAILS(setsockopt(new_socket(ONE), IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto), EINVAL);
}

//= RFC 6458 8.1.1-1
CASE(rto_of_0_changes_nothing)
{
	int fd = new_socket(ONE);
	struct sctp_rtoinfo rto = { .srto_initial = 2000 };
	socklen_t len = sizeof rto;
	WORKS(setsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto));
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &rto, &len));
	SAME(rto.srto_initial, 2000);
	CHECK(rto.srto_max == 60000);
}

CASE(defaults_of_initmsg)
{
	struct sctp_initmsg init = { 0 };
	socklen_t len = sizeof init;
	WORKS(getsockopt(new_socket(ONE), IPPROTO_SCTP, SCTP_INITMSG, &init, &len));
	SAME(init.sinit_num_ostreams, 10);
	SAME(init.sinit_max_instreams, 65535);
	SAME(init.sinit_max_attempts, 8);
	SAME(init.sinit_max_init_timeo, 60000);
}

CASE(defaults_of_associnfo)
{
	struct sctp_assocparams params = { 0 };
	socklen_t len = sizeof params;
	WORKS(getsockopt(new_socket(ONE), IPPROTO_SCTP, SCTP_ASSOCINFO, &params, &len));
	SAME(params.sasoc_asocmaxrxt, 10);
	SAME(params.sasoc_cookie_life, 60000);
}

CASE(defaults_of_rtoinfo)
{
	struct sctp_rtoinfo rto = { 0 };
	socklen_t len = sizeof rto;
	WORKS(getsockopt(new_socket(ONE), IPPROTO_SCTP, SCTP_RTOINFO, &rto, &len));
	SAME(rto.srto_initial, 3000);
	SAME(rto.srto_min, 1000);
	SAME(rto.srto_max, 60000);
}

CASE(defaults_of_peer_addr_params)
{
	struct sctp_paddrparams params = { 0 };
	socklen_t len = sizeof params;
	WORKS(getsockopt(new_socket(ONE), IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &params, &len));
	SAME(params.spp_hbinterval, 30000);
	SAME(params.spp_pathmaxrxt, 5);
	SAME(params.spp_sackdelay, 200);
}

static const struct wrong_value {
	const char *label;
	int option, value, number;
} wrong_values[] = {
	{ "interleave_2_uninformed", SCTP_FRAGMENT_INTERLEAVE, 2, 0 },
	{ "interleave_3", SCTP_FRAGMENT_INTERLEAVE, 3, 0 },
	{ "interleave_1", SCTP_FRAGMENT_INTERLEAVE, 1, 0 },
	{ "partial_delivery_large", SCTP_PARTIAL_DELIVERY_POINT, 1 << 30, EINVAL },
	{ "nodelay_77", SCTP_NODELAY, 77, 0 },
	{ "maxseg_1", SCTP_MAXSEG, 1, EINVAL },
	{ "maxseg_70000", SCTP_MAXSEG, 70000, EINVAL },
	{ "maxseg_0", SCTP_MAXSEG, 0, 0 },
};

EACH(value_of_an_option, wrong_values)
{
	FAILS(set_int(new_socket(ONE), IPPROTO_SCTP, row->option, row->value), row->number);
}

static const struct delay {
	const char *label;
	unsigned delay, frequency;
	int number;
} delays[] = {
	{ "100_2", 100, 2, 0 },
	{ "500_2", 500, 2, 0 },
	{ "501_2", 501, 2, EINVAL },
	{ "0_1", 0, 1, 0 },
	{ "0_0", 0, 0, 0 },
};

EACH(delayed_sack_value, delays)
{
	struct sctp_sack_info info = { .sack_delay = row->delay, .sack_freq = row->frequency };
	FAILS(setsockopt(new_socket(ONE), IPPROTO_SCTP, SCTP_DELAYED_SACK, &info, sizeof info),
	      row->number);
}

static const struct heartbeat {
	const char *label;
	unsigned flags;
	int number;
} heartbeats[] = {
	{ "enable", SPP_HB_ENABLE, 0 },
	{ "disable", SPP_HB_DISABLE, 0 },
	{ "both", SPP_HB_ENABLE | SPP_HB_DISABLE, EINVAL },
	{ "pmtud_both", SPP_PMTUD_ENABLE | SPP_PMTUD_DISABLE, EINVAL },
	{ "sackdelay_both", SPP_SACKDELAY_ENABLE | SPP_SACKDELAY_DISABLE, EINVAL },
	{ "demand", SPP_HB_DEMAND, EINVAL },
};

EACH(path_flags, heartbeats)
{
	struct sctp_paddrparams params = { .spp_flags = row->flags };
	int fd = new_socket(ONE);
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &params, sizeof params),
	      row->number);
}

EACH(path_flags_of_an_association, heartbeats)
{
	struct pair pair = paired(ONE);
	struct sctp_paddrparams params = { .spp_flags = row->flags };
	FAILS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &params, sizeof params),
	      row->flags == SPP_HB_DEMAND ? 0 : row->number);
}
