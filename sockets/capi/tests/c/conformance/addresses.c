/* Addresses: of sockets and associations, several of them, both families, mapped ones. */
#include "suite.h"

/* Two loopback addresses with one port. */
static struct sockaddr *two(int port, struct sockaddr_in at[2])
{
	address(&at[0], "127.0.0.1", port);
	address(&at[1], "127.0.0.2", port);
	return (struct sockaddr *)at;
}

static int bound_twice(enum kind kind)
{
	struct sockaddr_in at[2];
	int fd = new_socket(kind);
	WORKS(sctp_bindx(fd, two(0, at), 1, SCTP_BINDX_ADD_ADDR));
	address(&at[1], "127.0.0.2", port(fd));
	WORKS(sctp_bindx(fd, (struct sockaddr *)&at[1], 1, SCTP_BINDX_ADD_ADDR));
	return fd;
}

static int addresses_of(int fd, sctp_assoc_t id, bool peer)
{
	struct sockaddr *list = NULL;
	int count = peer ? sctp_getpaddrs(fd, id, &list) : sctp_getladdrs(fd, id, &list);
	if (count > 0)
		peer ? sctp_freepaddrs(list) : sctp_freeladdrs(list);
	return count;
}

EACH(bindx_several, both_kinds)
{
	int fd = bound_twice(row->kind);
	SAME(addresses_of(fd, 0, false), 2);
}

CASE(bindx_with_a_port)
{
	struct sockaddr_in at[2];
	int free_one = bound(ONE), number = port(free_one), fd = new_socket(ONE);
	close(free_one);
	WORKS(sctp_bindx(fd, two(number, at), 2, SCTP_BINDX_ADD_ADDR));
	SAME(port(fd), number);
	SAME(addresses_of(fd, 0, false), 2);
}

//= RFC 6458 9.1-2 9.1-4 9.1-5
CASE(bindx_two_ports)
{
	struct sockaddr_in at[2];
	int fd = new_socket(ONE);
	two(20001, at);
	at[1].sin_port = htons(20002);
	FAILS(sctp_bindx(fd, (struct sockaddr *)at, 2, SCTP_BINDX_ADD_ADDR), EINVAL);
	at[0].sin_port = 0;
	FAILS(sctp_bindx(fd, (struct sockaddr *)at, 2, SCTP_BINDX_ADD_ADDR), EINVAL);
}

//= RFC 6458 9.1-6
CASE(bindx_another_port_later)
{
	struct sockaddr_in at[2];
	int fd = bound(ONE);
	two(port(fd) == 20001 ? 20002 : 20001, at);
	FAILS(sctp_bindx(fd, (struct sockaddr *)&at[1], 1, SCTP_BINDX_ADD_ADDR), EINVAL);
}

CASE(bindx_removes)
{
	struct sockaddr_in at[2];
	int fd = bound_twice(ONE);
	two(port(fd), at);
	WORKS(sctp_bindx(fd, (struct sockaddr *)&at[1], 1, SCTP_BINDX_REM_ADDR));
	SAME(addresses_of(fd, 0, false), 1);
}

CASE(bindx_removes_the_last)
{
	struct sockaddr_in at[2];
	int fd = bound(ONE);
	two(port(fd), at);
	FAILS(sctp_bindx(fd, (struct sockaddr *)at, 1, SCTP_BINDX_REM_ADDR), EBUSY);
}

CASE(bindx_removes_a_stranger)
{
	struct sockaddr_in at;
	int fd = bound_twice(ONE);
	address(&at, "127.0.0.3", port(fd));
	FAILS(sctp_bindx(fd, (struct sockaddr *)&at, 1, SCTP_BINDX_REM_ADDR), EINVAL);
}

CASE(bindx_removes_from_an_unbound_socket)
{
	struct sockaddr_in at;
	address(&at, "127.0.0.1", 20003);
	FAILS(sctp_bindx(new_socket(ONE), (struct sockaddr *)&at, 1, SCTP_BINDX_REM_ADDR), EBUSY);
}

CASE(bindx_twice_the_same)
{
	struct sockaddr_in at;
	int fd = bound(ONE);
	address(&at, "127.0.0.1", port(fd));
	FAILS(sctp_bindx(fd, (struct sockaddr *)&at, 1, SCTP_BINDX_ADD_ADDR), EINVAL);
}

static const struct wrong_bindx {
	const char *label;
	const char *text;
	int count, flags, number;
} wrong_bindxs[] = {
	{ "foreign", "192.0.2.1", 1, SCTP_BINDX_ADD_ADDR, EADDRNOTAVAIL },
	{ "no_flag", "127.0.0.1", 1, 0, EINVAL },
	{ "unknown_flag", "127.0.0.1", 1, 77, EINVAL },
	{ "none", "127.0.0.1", 0, SCTP_BINDX_ADD_ADDR, EINVAL },
	{ "v6_on_v4", "::1", 1, SCTP_BINDX_ADD_ADDR, EINVAL },
};

//= RFC 6458 9.1-1
EACH(bindx_wrong, wrong_bindxs)
{
	struct sockaddr_storage at;
	address(&at, row->text, 0);
	FAILS(sctp_bindx(new_socket(ONE), (struct sockaddr *)&at, row->count, row->flags),
	      row->number);
}

CASE(bindx_in_use)
{
	struct sockaddr_in at;
	address(&at, "127.0.0.1", port(bound(ONE)));
	FAILS(sctp_bindx(new_socket(ONE), (struct sockaddr *)&at, 1, SCTP_BINDX_ADD_ADDR),
	      EADDRINUSE);
}

CASE(bindx_a_peeled_off_socket_its_own_address)
{
	struct pair pair = paired(PEELED);
	struct sockaddr_in at;
	address(&at, "127.0.0.1", port(pair.client));
	FAILS(sctp_bindx(pair.client, (struct sockaddr *)&at, 1, SCTP_BINDX_ADD_ADDR), EINVAL);
}

CASE(bindx_an_accepted_socket_its_own_address)
{
	struct pair pair = paired(ONE);
	struct sockaddr_in at;
	address(&at, "127.0.0.1", port(pair.server));
	FAILS(sctp_bindx(pair.server, (struct sockaddr *)&at, 1, SCTP_BINDX_ADD_ADDR), EINVAL);
}

//= RFC 6458 9.9-1
EACH(connectx_several, both_kinds)
{
	struct sockaddr_in at[2];
	int listener = bound_twice(row->kind), fd = new_socket(row->kind);
	sctp_assoc_t id = -1;
	WORKS(listen(listener, 5));
	WORKS(sctp_connectx(fd, two(port(listener), at), 2, &id));
	CHECK(id > 0);
	SAME(addresses_of(fd, row->kind == MANY ? id : 0, true), 2);
}

CASE(connectx_first_address_is_silent)
{
	struct sockaddr_in at[2];
	int listener = listening(ONE), fd = new_socket(ONE);
	two(port(listener), at);
	WORKS(sctp_connectx(fd, (struct sockaddr *)at, 1, NULL));
}

CASE(connectx_without_id)
{
	struct sockaddr_in at[2];
	int fd = new_socket(ONE);
	WORKS(sctp_connectx(fd, two(port(listening(ONE)), at), 1, NULL));
}

CASE(connectx_nonblocking)
{
	struct sockaddr_in at[2];
	int fd = new_socket(ONE);
	sctp_assoc_t id = -1;
	nonblocking(fd);
	FAILS(sctp_connectx(fd, two(port(listening(ONE)), at), 1, &id), EINPROGRESS);
	CHECK(wait_for(fd, POLLOUT) & POLLOUT);
}

CASE(connectx_refused)
{
	struct sockaddr_in at[2];
	int nobody = bound(ONE), number = port(nobody);
	close(nobody);
	FAILS(sctp_connectx(new_socket(ONE), two(number, at), 1, NULL), ECONNREFUSED);
}

CASE(connectx_two_ports)
{
	struct sockaddr_in at[2];
	two(20001, at);
	at[1].sin_port = htons(20002);
	FAILS(sctp_connectx(new_socket(ONE), (struct sockaddr *)at, 2, NULL), EINVAL);
}

CASE(connectx_to_none)
{
	struct sockaddr_in at[2];
	FAILS(sctp_connectx(new_socket(ONE), two(20001, at), 0, NULL), EINVAL);
}

CASE(connectx_connected)
{
	struct pair pair = paired(ONE);
	struct sockaddr_in at[2];
	FAILS(sctp_connectx(pair.client, two(port(pair.listener), at), 1, NULL), EISCONN);
}

CASE(connectx_to_the_same_peer)
{
	struct pair pair = paired(MANY);
	struct sockaddr_in at[2];
	FAILS(sctp_connectx(pair.client, two(port(pair.listener), at), 1, NULL), EISCONN);
}

EACH(getpaddrs_of_an_association, all_kinds)
{
	struct pair pair = paired(row->kind);
	struct sockaddr *list;
	SAME(sctp_getpaddrs(pair.client, pair.client_id, &list), 1);
	SAME(list->sa_family, AF_INET);
	SAME(port_of(list), port(pair.listener));
	sctp_freepaddrs(list);
}

EACH(getladdrs_of_an_association, all_kinds)
{
	struct pair pair = paired(row->kind);
	struct sockaddr *list;
	SAME(sctp_getladdrs(pair.client, pair.client_id, &list), 1);
	SAME(port_of(list), port(pair.client));
	sctp_freeladdrs(list);
}

CASE(getpaddrs_of_nobody)
{
	struct sockaddr *list;
	struct pair pair = paired(MANY);
	/* RFC 6458 §9.3 has 0 for this, Linux EINVAL. */
	CHECK(sctp_getpaddrs(new_socket(ONE), 0, &list) <= 0);
	FAILS(sctp_getpaddrs(pair.client, pair.client_id + 1000, &list), EINVAL);
	FAILS(sctp_getpaddrs(pair.client, 0, &list), EINVAL);
}

CASE(getladdrs_of_nobody)
{
	struct sockaddr *list;
	struct pair pair = paired(MANY);
	FAILS(sctp_getladdrs(pair.client, pair.client_id + 1000, &list), EINVAL);
}

CASE(getladdrs_of_an_unbound_socket)
{
	struct sockaddr *list;
	SAME(sctp_getladdrs(new_socket(ONE), 0, &list), 0);
}

EACH(getsockname_unbound, families)
{
	struct sockaddr_storage at = { .ss_family = 77 };
	socklen_t len = sizeof at;
	family = row->family;
	WORKS(getsockname(new_socket(ONE), (struct sockaddr *)&at, &len));
	SAME(at.ss_family, row->family);
	SAME(port_of(&at), 0);
}

EACH(getsockname_cut, both_kinds)
{
	struct sockaddr_storage at = { .ss_family = 0 };
	socklen_t len = 4;
	WORKS(getsockname(bound(row->kind), (struct sockaddr *)&at, &len));
	SAME(len, sizeof(struct sockaddr_in));
	SAME(at.ss_family, AF_INET);
}

CASE(getsockname_negative_length)
{
	struct sockaddr_storage at;
	socklen_t len = (socklen_t)-1;
	FAILS(getsockname(bound(ONE), (struct sockaddr *)&at, &len), EINVAL);
}

static const struct peer_name {
	const char *label;
	enum kind kind;
	int number;
} peer_names[] = { { "one", ONE, 0 }, { "many", MANY, ENOTCONN }, { "peeled", PEELED, 0 } };

EACH(getpeername_connected, peer_names)
{
	struct pair pair = paired(row->kind);
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	FAILS(getpeername(pair.client, (struct sockaddr *)&at, &len), row->number);
	if (row->number == 0)
		SAME(port_of(&at), port(pair.listener));
}

EACH(getpeername_of_nobody, both_kinds)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	FAILS(getpeername(new_socket(row->kind), (struct sockaddr *)&at, &len), ENOTCONN);
	FAILS(getpeername(listening(row->kind), (struct sockaddr *)&at, &len), ENOTCONN);
}

CASE(getpeername_after_the_peers_close)
{
	struct pair pair = paired(ONE);
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	close(pair.server);
	SAME(receive(pair.client, 0)->len, 0);
	WORKS(getpeername(pair.client, (struct sockaddr *)&at, &len));
	SAME(port_of(&at), port(pair.listener));
}

/* An IPv6 socket serves IPv4 peers, whose addresses it shows as mapped ones. */
CASE(v4_peer_of_a_v6_socket)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	struct sockaddr_in to;
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	family = AF_INET6;
	int listener = new_socket(ONE);
	WORKS(bind(listener, (struct sockaddr *)&any, sizeof any));
	WORKS(listen(listener, 5));
	family = AF_INET;
	int client = new_socket(ONE);
	socklen_t to_len = address(&to, "127.0.0.1", port(listener));
	WORKS(connect(client, (struct sockaddr *)&to, to_len));
	int server = accept(listener, (struct sockaddr *)&at, &len);
	CHECK(server >= 0);
	SAME(at.ss_family, AF_INET6);
	CHECK(IN6_IS_ADDR_V4MAPPED(&((struct sockaddr_in6 *)&at)->sin6_addr));
	SENDS(client, "x");
	struct message *got = receive(server, 0);
	SAME(got->len, 1);
	SAME(got->from.ss_family, AF_INET6);
}

CASE(v4_peer_unmapped)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	struct sockaddr_in to;
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	family = AF_INET6;
	int listener = new_socket(ONE);
	WORKS(set_int(listener, IPPROTO_SCTP, SCTP_I_WANT_MAPPED_V4_ADDR, 0));
	WORKS(bind(listener, (struct sockaddr *)&any, sizeof any));
	WORKS(listen(listener, 5));
	family = AF_INET;
	int client = new_socket(ONE);
	socklen_t to_len = address(&to, "127.0.0.1", port(listener));
	WORKS(connect(client, (struct sockaddr *)&to, to_len));
	CHECK(accept(listener, (struct sockaddr *)&at, &len) >= 0);
	SAME(at.ss_family, AF_INET);
}

CASE(v4_peer_of_a_v6only_socket)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	struct sockaddr_in to;
	family = AF_INET6;
	int listener = new_socket(ONE);
	WORKS(set_int(listener, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	WORKS(bind(listener, (struct sockaddr *)&any, sizeof any));
	WORKS(listen(listener, 5));
	family = AF_INET;
	socklen_t len = address(&to, "127.0.0.1", port(listener));
	FAILS(connect(new_socket(ONE), (struct sockaddr *)&to, len), ECONNREFUSED);
}

CASE(connect_a_v6_socket_to_a_mapped_address)
{
	struct sockaddr_in6 to;
	int listener = listening(ONE);
	family = AF_INET6;
	socklen_t len = address(&to, "::ffff:127.0.0.1", port(listener));
	int fd = new_socket(ONE);
	WORKS(connect(fd, (struct sockaddr *)&to, len));
	SENDS(fd, "x");
}

CASE(connect_a_v6_socket_to_a_v4_address)
{
	struct sockaddr_in to;
	int listener = listening(ONE);
	socklen_t len = address(&to, "127.0.0.1", port(listener));
	family = AF_INET6;
	WORKS(connect(new_socket(ONE), (struct sockaddr *)&to, len));
}

CASE(connect_a_v6only_socket_to_a_mapped_address)
{
	struct sockaddr_in6 to;
	int listener = listening(ONE);
	family = AF_INET6;
	socklen_t len = address(&to, "::ffff:127.0.0.1", port(listener));
	int fd = new_socket(ONE);
	WORKS(set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	FAILS(connect(fd, (struct sockaddr *)&to, len), EINVAL);
}

CASE(v6only_after_bind)
{
	family = AF_INET6;
	FAILS(set_int(bound(ONE), IPPROTO_IPV6, IPV6_V6ONLY, 1), EINVAL);
}

/* Bound to all addresses of the host, of that family. */
static int bound_to_any(enum kind kind, bool v6_only)
{
	struct sockaddr_storage at;
	int fd = new_socket(kind);
	socklen_t len = address(&at, family == AF_INET ? "0.0.0.0" : "::", 0);
	if (v6_only)
		WORKS(set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	WORKS(bind(fd, (struct sockaddr *)&at, len));
	return fd;
}

/* Which families the addresses of an association have: AF_INET as 1, AF_INET6 as 2, a mapped one as 4. */
static int families_of(int fd, sctp_assoc_t id, bool peer)
{
	struct sockaddr *list;
	int seen = 0, count = peer ? sctp_getpaddrs(fd, id, &list) : sctp_getladdrs(fd, id, &list);
	CHECK(count > 0);
	char *at = (char *)list;
	while (count--) {
		struct sockaddr_in6 *v6 = (void *)at;
		bool mapped = v6->sin6_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
		seen |= v6->sin6_family == AF_INET ? 1 : mapped ? 4 : 2;
		at += v6->sin6_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof *v6;
	}
	peer ? sctp_freepaddrs(list) : sctp_freeladdrs(list);
	return seen;
}

static const struct mixture {
	const char *label;
	int family;
	bool v6_only;
	int seen;
} mixtures[] = {
	{ "v4", AF_INET, false, 1 },
	{ "v6", AF_INET6, false, 2 | 4 },
	{ "v6only", AF_INET6, true, 2 },
};

/* A socket of IPv4 has peers and paths of IPv4 only; one of IPv6 both, unless it says otherwise. */
EACH(families_of_an_association, mixtures)
{
	family = row->family;
	int server = bound_to_any(MANY, row->v6_only), client = bound_to_any(MANY, row->v6_only);
	WORKS(listen(server, 5));
	WORKS(subscribe(client, SCTP_ASSOC_CHANGE, true));
	WORKS(subscribe(server, SCTP_ASSOC_CHANGE, true));
	WORKS(dial(client, port(server)));
	sctp_assoc_t here = CHANGED(client, SCTP_COMM_UP)->sac_assoc_id;
	sctp_assoc_t there = CHANGED(server, SCTP_COMM_UP)->sac_assoc_id;
	SAME(families_of(client, here, true), row->seen);
	SAME(families_of(server, there, true), row->seen);
	SAME(families_of(client, here, false), row->seen);
	SAME(families_of(server, there, false), row->seen);
}

/* An address that the peer has listed is told of when it has answered. */
CASE(address_of_the_peer_is_confirmed)
{
	struct sctp_rtoinfo rto = { .srto_initial = 100, .srto_min = 100, .srto_max = 1000 };
	int listener = bound_twice(ONE), fd = new_socket(ONE);
	WORKS(listen(listener, 5));
	WORKS(setsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto));
	WORKS(subscribe(fd, SCTP_PEER_ADDR_CHANGE, true));
	WORKS(dial(fd, port(listener)));
	struct sctp_paddr_change *change = &TOLD(fd, SCTP_PEER_ADDR_CHANGE)->sn_paddr_change;
	SAME(change->spc_state, SCTP_ADDR_CONFIRMED);
	SAME(((struct sockaddr_in *)&change->spc_aaddr)->sin_addr.s_addr, inet_addr("127.0.0.2"));
}

static const struct exposure {
	const char *label;
	unsigned value;
	int number;
} exposures[] = { { "disabled", 1, 0 }, { "enabled", 2, 0 }, { "beyond", 3, EINVAL } };

/* RFC 7829 §7.3, with the kernel's values: 0 says nothing, 1 disables, 2 enables. */
EACH(expose_potentially_failed, exposures)
{
	struct pair pair = paired(MANY);
	struct sctp_assoc_value value = { .assoc_id = 0 };
	socklen_t len = sizeof value;
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, 131, &value, &len));
	SAME(value.assoc_value, 0);
	value = (struct sctp_assoc_value){ pair.client_id, row->value };
	FAILS(setsockopt(pair.client, IPPROTO_SCTP, 131, &value, sizeof value), row->number);
	value.assoc_value = 77;
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, 131, &value, &len));
	SAME(value.assoc_value, row->number == 0 ? row->value : 0);
	/* That of associations to come is as it was. */
	value.assoc_id = 0;
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, 131, &value, &len));
	SAME(value.assoc_value, 0);
}

/* RFC 7829 §7.2; struct sctp_paddrthlds_v2, which not every <netinet/sctp.h> has. */
struct thresholds {
	sctp_assoc_t id;
	struct sockaddr_storage address;
	uint16_t path, failed, primary;
};

static const struct threshold {
	const char *label;
	int option;
	uint16_t path, failed, primary;
	int number;
} thresholds[] = {
	{ "of_failure", 31, 7, 2, 9, 0 },
	{ "path_max_retrans_stays", 31, 0, 3, 9, 0 },
	{ "of_the_primary", 37, 7, 2, 2, 0 },
	{ "of_the_primary_later", 37, 7, 2, 3, 0 },
	{ "never_another_primary", 37, 7, 2, 0xffff, 0 },
	{ "the_primary_before_failure", 37, 7, 2, 1, EINVAL },
};

EACH(peer_address_thresholds, thresholds)
{
	struct pair pair = paired(MANY);
	struct thresholds before = { .id = pair.client_id }, value, now = before;
	socklen_t len = sizeof value;
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, 37, &before, &len));
	SAME(before.primary, 0xffff);
	value = (struct thresholds){ .id = pair.client_id, .path = row->path, .failed = row->failed,
				     .primary = row->primary };
	FAILS(setsockopt(pair.client, IPPROTO_SCTP, row->option, &value, sizeof value), row->number);
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, 37, &now, &len));
	bool done = row->number == 0, second = row->option == 37;
	SAME(now.path, done && row->path ? row->path : before.path);
	SAME(now.failed, done ? row->failed : before.failed);
	SAME(now.primary, done && second ? row->primary : before.primary);
	/* Those of associations to come are as they were. */
	now.id = 0;
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, 37, &now, &len));
	SAME(now.primary, 0xffff);
	SAME(now.failed, before.failed);
}

CASE(thresholds_of_one_address)
{
	struct pair pair = paired(MANY);
	struct thresholds value = { .id = pair.client_id, .path = 4, .failed = 1, .primary = 1 };
	struct thresholds of_all = { .id = pair.client_id };
	socklen_t len = sizeof value;
	address(&value.address, loopback(), port(pair.server));
	WORKS(setsockopt(pair.client, IPPROTO_SCTP, 37, &value, sizeof value));
	value.path = value.failed = value.primary = 77;
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, 37, &value, &len));
	SAME(value.path, 4);
	SAME(value.failed, 1);
	SAME(value.primary, 1);
	WORKS(getsockopt(pair.client, IPPROTO_SCTP, 37, &of_all, &len));
	SAME(of_all.primary, 0xffff);
	SAME(of_all.path, 5);
}

CASE(thresholds_of_a_stranger)
{
	struct pair pair = paired(MANY);
	struct thresholds value = { .id = pair.client_id, .path = 4, .failed = 1, .primary = 1 };
	address(&value.address, "192.0.2.1", port(pair.server));
	FAILS(setsockopt(pair.client, IPPROTO_SCTP, 37, &value, sizeof value), ENOENT);
	socklen_t len = sizeof value;
	FAILS(getsockopt(pair.client, IPPROTO_SCTP, 31, &value, &len), ENOENT);
}

CASE(who_sets_the_primary_address_is_told)
{
	struct sockaddr_in at[2];
	int listener = bound_twice(ONE), fd = new_socket(ONE);
	two(port(listener), at);
	WORKS(listen(listener, 5));
	WORKS(dial(fd, port(listener)));
	WORKS(subscribe(fd, SCTP_PEER_ADDR_CHANGE, true));
	struct sctp_setprim primary = { .ssp_assoc_id = 0 };
	for (int i = 0; i < 2; i++) {
		memcpy(&primary.ssp_addr, &at[1 - i], sizeof at[0]);
		while (setsockopt(fd, IPPROTO_SCTP, SCTP_PRIMARY_ADDR, &primary, sizeof primary) != 0)
			usleep(20000);
		struct sctp_paddr_change *change;
		do
			change = &TOLD(fd, SCTP_PEER_ADDR_CHANGE)->sn_paddr_change;
		while (change->spc_state != SCTP_ADDR_MADE_PRIM);
		SAME(((struct sockaddr_in *)&change->spc_aaddr)->sin_addr.s_addr,
		     at[1 - i].sin_addr.s_addr);
	}
}

CASE(bindx_with_an_association)
{
	struct pair pair = paired(ONE);
	struct sockaddr_in at;
	address(&at, "127.0.0.2", port(pair.client));
	WORKS(sctp_bindx(pair.client, (struct sockaddr *)&at, 1, SCTP_BINDX_ADD_ADDR));
}

EACH(reuse_address, both_kinds)
{
	struct sockaddr_in at;
	int first = new_socket(row->kind), second = new_socket(row->kind);
	socklen_t len = address(&at, loopback(), 0);
	WORKS(set_int(first, SOL_SOCKET, SO_REUSEADDR, 1));
	WORKS(set_int(second, SOL_SOCKET, SO_REUSEADDR, 1));
	WORKS(bind(first, (struct sockaddr *)&at, len));
	address(&at, loopback(), port(first));
	WORKS(bind(second, (struct sockaddr *)&at, len));
}

CASE(reuse_address_of_a_listener)
{
	struct sockaddr_in at;
	int first = new_socket(ONE), second = new_socket(ONE);
	socklen_t len = address(&at, loopback(), 0);
	WORKS(set_int(first, SOL_SOCKET, SO_REUSEADDR, 1));
	WORKS(set_int(second, SOL_SOCKET, SO_REUSEADDR, 1));
	WORKS(bind(first, (struct sockaddr *)&at, len));
	WORKS(listen(first, 5));
	address(&at, loopback(), port(first));
	FAILS(bind(second, (struct sockaddr *)&at, len), EADDRINUSE);
}

/* Options that let several sockets have a port: all have to be set on each, and whether more than one may listen. */
static const struct sharing {
	const char *label;
	int level, option;
	bool both_listen;
} sharings[] = {
	{ "reuse_address", SOL_SOCKET, SO_REUSEADDR, false },
	{ "sctp_reuse_port", IPPROTO_SCTP, SCTP_REUSE_PORT, false },
	{ "reuse_port", SOL_SOCKET, SO_REUSEPORT, true },
};

EACH(port_of_several, sharings)
{
	struct sockaddr_in at;
	int first = new_socket(ONE), second = new_socket(ONE);
	socklen_t len = address(&at, loopback(), 0);
	WORKS(set_int(first, row->level, row->option, 1));
	WORKS(bind(first, (struct sockaddr *)&at, len));
	address(&at, loopback(), port(first));
	FAILS(bind(second, (struct sockaddr *)&at, len), EADDRINUSE);
	WORKS(set_int(second, row->level, row->option, 1));
	WORKS(bind(second, (struct sockaddr *)&at, len));
	WORKS(listen(second, 5));
	FAILS(listen(first, 5), row->both_listen ? 0 : EADDRINUSE);
	if (row->level == IPPROTO_SCTP)
		FAILS(set_int(first, row->level, row->option, 0), EFAULT);
}

CASE(port_of_a_closed_listener_is_free)
{
	struct sockaddr_in at;
	int first = listening(ONE), second = new_socket(ONE);
	socklen_t len = address(&at, loopback(), port(first));
	close(first);
	WORKS(bind(second, (struct sockaddr *)&at, len));
}

CASE(port_of_an_accepted_socket_is_taken)
{
	struct pair pair = paired(ONE);
	struct sockaddr_in at;
	socklen_t len = address(&at, loopback(), port(pair.listener));
	close(pair.listener);
	FAILS(bind(new_socket(ONE), (struct sockaddr *)&at, len), EADDRINUSE);
}

//= RFC 6458 8.1.9-1
CASE(primary_address_is_a_peers)
{
	struct pair pair = paired(ONE);
	struct {
		sctp_assoc_t id;
		char at[128];
	} primary = { 0 };
	address(primary.at, "127.0.0.9", port(pair.listener));
	FAILS(setsockopt(pair.client, IPPROTO_SCTP, SCTP_PRIMARY_ADDR, &primary, sizeof primary),
	      EINVAL);
}

/* What is known of an address of the peer. */
static struct sctp_paddrinfo peer_info(int fd, sctp_assoc_t id, const char *text, int port)
{
	struct sctp_paddrinfo info = { .spinfo_assoc_id = id };
	socklen_t len = sizeof info;
	address(&info.spinfo_address, text, port);
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_GET_PEER_ADDR_INFO, &info, &len));
	return info;
}

static const struct named_address {
	const char *label;
	enum kind kind;
	int flags;
	bool second;
} named_addresses[] = {
	{ "one", ONE, 0, true },
	{ "one_over", ONE, SCTP_ADDR_OVER, true },
	{ "many", MANY, 0, false },
	{ "many_over", MANY, SCTP_ADDR_OVER, true },
};

/* RFC 6458 §4.1.8, §5.3.2: only where data goes does a window grow. */
EACH(messages_to_the_second_address, named_addresses)
{
	static char data[2000];
	struct sockaddr_in at[2];
	int listener = bound_twice(row->kind), fd = new_socket(row->kind), server = listener;
	int number = port(listener);
	sctp_assoc_t id = -1;
	uint32_t first, second;

	WORKS(listen(listener, 5));
	WORKS(sctp_connectx(fd, two(number, at), 2, &id));
	if (row->kind == ONE) {
		server = accept(listener, NULL, NULL);
		id = 0;
	}
	CHECK(server >= 0);
	for (int i = 0; i < 60; i++) {
		if (peer_info(fd, id, "127.0.0.2", number).spinfo_state == SCTP_ACTIVE)
			break;
		usleep(50000);
	}
	SAME(peer_info(fd, id, "127.0.0.2", number).spinfo_state, SCTP_ACTIVE);
	first = peer_info(fd, id, "127.0.0.1", number).spinfo_cwnd;
	second = peer_info(fd, id, "127.0.0.2", number).spinfo_cwnd;
	for (int i = 0; i < 40; i++)
		SAME(sctp_sendmsg(fd, data, sizeof data, (struct sockaddr *)&at[1], sizeof at[1], 0,
				  row->flags, 0, 0, 0), sizeof data);
	for (int i = 0; i < 40; i++)
		SAME(receive(server, 0)->len, sizeof data);
	usleep(100000);
	/* The kernel's window of a path that is never full does not grow at all. */
	if (row->second)
		SAME(peer_info(fd, id, "127.0.0.1", number).spinfo_cwnd, first);
	else
		SAME(peer_info(fd, id, "127.0.0.2", number).spinfo_cwnd, second);
}
