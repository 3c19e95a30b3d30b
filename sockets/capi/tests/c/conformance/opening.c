/* socket, bind, listen, connect, accept: what works, and the error number of each wrong use. */
#include "suite.h"

static const struct made {
	const char *label;
	int family, type, protocol, number;
} makes[] = {
	{ "stream_v4", AF_INET, SOCK_STREAM, IPPROTO_SCTP, 0 },
	{ "seqpacket_v4", AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP, 0 },
	{ "stream_v6", AF_INET6, SOCK_STREAM, IPPROTO_SCTP, 0 },
	{ "seqpacket_v6", AF_INET6, SOCK_SEQPACKET, IPPROTO_SCTP, 0 },
	{ "nonblock_cloexec", AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_SCTP, 0 },
	{ "seqpacket_without_protocol", AF_INET, SOCK_SEQPACKET, 0, 0 },
	{ "datagram", AF_INET, SOCK_DGRAM, IPPROTO_SCTP, EPROTONOSUPPORT },
	{ "reliable_datagram", AF_INET, SOCK_RDM, IPPROTO_SCTP, ESOCKTNOSUPPORT },
	{ "unix", AF_UNIX, SOCK_STREAM, IPPROTO_SCTP, EPROTONOSUPPORT },
};

EACH(socket_of_type, makes)
{
	FAILS(socket(row->family, row->type, row->protocol), row->number);
}

CASE(socket_flags_are_kept)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_SCTP);
	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

EACH(bind_gives_a_free_port, both_kinds)
{
	int a = bound(row->kind), b = bound(row->kind);
	CHECK(port(a) != 0 && port(b) != 0 && port(a) != port(b));
}

EACH(bind_twice, both_kinds)
{
	struct sockaddr_storage at;
	socklen_t len = address(&at, loopback(), 0);
	int fd = bound(row->kind);
	FAILS(bind(fd, (struct sockaddr *)&at, len), EINVAL);
}

EACH(bind_in_use, both_kinds)
{
	struct sockaddr_storage at;
	int holder = bound(row->kind), fd = new_socket(row->kind);
	socklen_t len = address(&at, loopback(), port(holder));
	FAILS(bind(fd, (struct sockaddr *)&at, len), EADDRINUSE);
}

CASE(bind_in_use_by_the_other_kind)
{
	struct sockaddr_storage at;
	int holder = bound(ONE), fd = new_socket(MANY);
	socklen_t len = address(&at, loopback(), port(holder));
	FAILS(bind(fd, (struct sockaddr *)&at, len), EADDRINUSE);
}

CASE(bind_in_use_by_the_wildcard)
{
	struct sockaddr_storage at;
	int holder = new_socket(ONE), fd = new_socket(ONE);
	socklen_t len = address(&at, "0.0.0.0", 0);
	WORKS(bind(holder, (struct sockaddr *)&at, len));
	len = address(&at, loopback(), port(holder));
	FAILS(bind(fd, (struct sockaddr *)&at, len), EADDRINUSE);
}

//= RFC 6458 3.1.2-1 4.1.2-1
CASE(bind_same_port_of_another_address)
{
	struct sockaddr_storage at;
	int holder = bound(ONE), fd = new_socket(ONE);
	socklen_t len = address(&at, "127.0.0.2", port(holder));
	WORKS(bind(fd, (struct sockaddr *)&at, len));
}

static const struct wrong_bind {
	const char *label;
	int family;
	const char *text;
	int len, number;
} wrong_binds[] = {
	{ "foreign_address", AF_INET, "192.0.2.1", 16, EADDRNOTAVAIL },
	{ "foreign_address_v6", AF_INET6, "2001:db8::1", 28, EADDRNOTAVAIL },
	{ "broadcast", AF_INET, "255.255.255.255", 16, EADDRNOTAVAIL },
	{ "multicast", AF_INET, "224.0.0.1", 16, EADDRNOTAVAIL },
	{ "short", AF_INET, "127.0.0.1", 3, EINVAL },
	{ "nearly_whole", AF_INET, "127.0.0.1", 15, EINVAL },
	{ "nothing", AF_INET, "127.0.0.1", 0, EINVAL },
	{ "v6_on_v4", AF_INET, "::1", 28, EINVAL },
	{ "short_v6", AF_INET6, "::1", 23, EINVAL },
};

//= RFC 6458 3.1.2-3 4.1.2-2
EACH(bind_wrong, wrong_binds)
{
	struct sockaddr_storage at;
	family = row->family;
	address(&at, row->text, 0);
	FAILS(bind(new_socket(ONE), (struct sockaddr *)&at, row->len), row->number);
}

CASE(bind_v4_on_v6)
{
	struct sockaddr_storage at;
	family = AF_INET6;
	socklen_t len = address(&at, "127.0.0.1", 0);
	WORKS(bind(new_socket(ONE), (struct sockaddr *)&at, len));
}

CASE(bind_longer_than_the_address)
{
	struct sockaddr_storage at;
	address(&at, loopback(), 0);
	WORKS(bind(new_socket(ONE), (struct sockaddr *)&at, sizeof at));
}

EACH(listen_binds, both_kinds)
{
	int fd = new_socket(row->kind);
	WORKS(listen(fd, 5));
	CHECK(port(fd) != 0);
	SAME(get_int(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
}

EACH(listen_again, both_kinds)
{
	int fd = listening(row->kind);
	WORKS(listen(fd, 1));
	WORKS(listen(fd, 50));
}

CASE(listen_on_a_connected_socket)
{
	struct pair pair = paired(ONE);
	FAILS(listen(pair.client, 5), EINVAL);
}

CASE(listen_on_an_accepted_socket)
{
	struct pair pair = paired(ONE);
	FAILS(listen(pair.server, 5), EINVAL);
}

CASE(listen_on_a_peeled_off_socket)
{
	struct pair pair = paired(PEELED);
	FAILS(listen(pair.client, 5), EINVAL);
}

EACH(listen_with_0_ends_it, both_kinds)
{
	int fd = listening(row->kind), at = port(fd);
	WORKS(listen(fd, 0));
	(void)at;
	SAME(get_int(fd, SOL_SOCKET, SO_ACCEPTCONN), 0);
}

EACH(connect_to_a_listener, families)
{
	family = row->family;
	struct pair pair = paired(ONE);
	SENDS(pair.client, "hello");
	ARRIVES(pair.server, "hello");
	SENDS(pair.server, "and back");
	ARRIVES(pair.client, "and back");
}

EACH(connect_many_to_a_listener, families)
{
	family = row->family;
	struct pair pair = paired(MANY);
	CHECK(say(&pair, true, "hello") == 5);
	ARRIVES(pair.server, "hello");
	CHECK(say(&pair, false, "back") == 4);
	ARRIVES(pair.client, "back");
}

EACH(connect_refused, both_kinds)
{
	int nobody = bound(ONE), at = port(nobody);
	close(nobody);
	FAILS(dial(new_socket(row->kind), at), ECONNREFUSED);
}

EACH(connect_refused_by_a_bound_socket, both_kinds)
{
	FAILS(dial(new_socket(row->kind), port(bound(ONE))), ECONNREFUSED);
}

EACH(connect_again_after_refused, both_kinds)
{
	int nobody = bound(ONE), at = port(nobody), fd = new_socket(row->kind);
	close(nobody);
	FAILS(dial(fd, at), ECONNREFUSED);
	WORKS(dial(fd, port(listening(row->kind))));
}

//= RFC 6458 1-2
CASE(connect_twice)
{
	struct pair pair = paired(ONE);
	FAILS(dial(pair.client, port(pair.listener)), EISCONN);
}

CASE(connect_an_accepted_socket)
{
	struct pair pair = paired(ONE);
	FAILS(dial(pair.server, port(pair.listener)), EISCONN);
}

CASE(connect_a_listener)
{
	int fd = listening(ONE);
	FAILS(dial(fd, port(listening(ONE))), EISCONN);
}

CASE(connect_a_peeled_off_socket)
{
	struct pair pair = paired(PEELED);
	FAILS(dial(pair.client, port(pair.listener)), EISCONN);
}

CASE(connect_many_to_the_same_peer_again)
{
	struct pair pair = paired(MANY);
	FAILS(dial(pair.client, port(pair.listener)), EISCONN);
}

CASE(connect_many_to_two_peers)
{
	struct pair pair = paired(MANY);
	WORKS(dial(pair.client, port(listening(MANY))));
}

EACH(connect_nonblocking, both_kinds)
{
	int listener = listening(row->kind), fd = new_socket(row->kind);
	nonblocking(fd);
	FAILS(dial(fd, port(listener)), EINPROGRESS);
	if (row->kind == ONE) {
		CHECK(wait_for(fd, POLLOUT) == POLLOUT);
		SAME(get_int(fd, SOL_SOCKET, SO_ERROR), 0);
		CHECK(wait_for(listener, POLLIN) == POLLIN);
		CHECK(accept(listener, NULL, NULL) >= 0);
	}
}

CASE(connect_nonblocking_refused)
{
	int nobody = bound(ONE), at = port(nobody), fd = new_socket(ONE);
	close(nobody);
	nonblocking(fd);
	FAILS(dial(fd, at), EINPROGRESS);
	CHECK(wait_for(fd, POLLOUT) & POLLERR);
	SAME(get_int(fd, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
	SAME(get_int(fd, SOL_SOCKET, SO_ERROR), 0);
}

static const struct wrong_connect {
	const char *label;
	int family;
	const char *text;
	int len, number;
} wrong_connects[] = {
	{ "short", AF_INET, "127.0.0.1", 3, EINVAL },
	{ "nearly_whole", AF_INET, "127.0.0.1", 15, EINVAL },
	{ "nothing", AF_INET, "127.0.0.1", 0, EINVAL },
	{ "v6_on_v4", AF_INET, "::1", 28, EINVAL },
	{ "short_v6", AF_INET6, "::1", 20, EINVAL },
	{ "multicast", AF_INET, "224.0.0.1", 16, EINVAL },
	{ "broadcast", AF_INET, "255.255.255.255", 16, EINVAL },
};

EACH(connect_wrong, wrong_connects)
{
	struct sockaddr_storage at;
	family = row->family;
	address(&at, row->text, 5000);
	FAILS(connect(new_socket(ONE), (struct sockaddr *)&at, row->len), row->number);
}

CASE(connect_to_port_0)
{
	FAILS(dial(new_socket(ONE), 0), ECONNREFUSED);
}

CASE(connect_to_the_unspecified_family)
{
	struct sockaddr at = { .sa_family = AF_UNSPEC };
	FAILS(connect(new_socket(ONE), &at, sizeof at), EOPNOTSUPP);
}

CASE(accept_gives_the_peer)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	int listener = listening(ONE), fd = bound(ONE);
	WORKS(dial(fd, port(listener)));
	CHECK(accept(listener, (struct sockaddr *)&at, &len) >= 0);
	SAME(len, sizeof(struct sockaddr_in));
	SAME(port_of(&at), port(fd));
}

CASE(accept_cuts_the_address)
{
	struct sockaddr_storage at = { .ss_family = 0 };
	socklen_t len = 2;
	int listener = listening(ONE);
	WORKS(dial(new_socket(ONE), port(listener)));
	CHECK(accept(listener, (struct sockaddr *)&at, &len) >= 0);
	SAME(len, sizeof(struct sockaddr_in));
	SAME(at.ss_family, AF_INET);
	SAME(port_of(&at), 0);
}

CASE(accept_nonblocking)
{
	int listener = listening(ONE);
	nonblocking(listener);
	FAILS(accept(listener, NULL, NULL), EAGAIN);
}

CASE(accept_does_not_inherit_nonblocking)
{
	int listener = listening(ONE);
	WORKS(dial(new_socket(ONE), port(listener)));
	nonblocking(listener);
	int fd = accept(listener, NULL, NULL);
	CHECK(fd >= 0);
	CHECK(!(fcntl(fd, F_GETFL) & O_NONBLOCK));
}

CASE(accept4_flags)
{
	int listener = listening(ONE);
	WORKS(dial(new_socket(ONE), port(listener)));
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

CASE(accept4_unknown_flag)
{
	FAILS(accept4(listening(ONE), NULL, NULL, 1), EINVAL);
}

CASE(accept_times_out)
{
	int listener = listening(ONE);
	patience(listener, SO_RCVTIMEO, 60);
	FAILS(accept(listener, NULL, NULL), EAGAIN);
}

CASE(accept_without_listen)
{
	FAILS(accept(new_socket(ONE), NULL, NULL), EINVAL);
	FAILS(accept(bound(ONE), NULL, NULL), EINVAL);
}

CASE(accept_on_an_accepted_socket)
{
	struct pair pair = paired(ONE);
	SENDS(pair.client, "kept");
	CHECK(wait_for(pair.server, POLLIN) & POLLIN);
	FAILS(accept(pair.server, NULL, NULL), EINVAL);
	ARRIVES(pair.server, "kept");
}

//= RFC 6458 3.1.3-1
CASE(accept_on_a_one_to_many_socket)
{
	struct pair pair = paired(MANY);
	say(&pair, true, "kept");
	CHECK(wait_for(pair.server, POLLIN) & POLLIN);
	FAILS(accept(pair.server, NULL, NULL), EOPNOTSUPP);
	ARRIVES(pair.server, "kept");
}

CASE(accept_on_a_peeled_off_socket)
{
	struct pair pair = paired(PEELED);
	/* It is a one-to-one socket that cannot listen; Linux says this. */
	FAILS(accept(pair.client, NULL, NULL), EOPNOTSUPP);
}

CASE(accept_in_the_order_of_arrival)
{
	int listener = listening(ONE);
	for (int n = 0; n < 3; n++) {
		int fd = bound(ONE);
		WORKS(dial(fd, port(listener)));
		char text[2] = { '0' + n, 0 };
		SENDS(fd, text);
	}
	for (int n = 0; n < 3; n++) {
		char text[2] = { '0' + n, 0 };
		int fd = accept(listener, NULL, NULL);
		CHECK(fd >= 0);
		ARRIVES(fd, text);
	}
}

CASE(accept_after_the_peer_has_gone)
{
	int listener = listening(ONE), fd = bound(ONE);
	WORKS(dial(fd, port(listener)));
	SENDS(fd, "last words");
	close(fd);
	int server = accept(listener, NULL, NULL);
	CHECK(server >= 0);
	ARRIVES(server, "last words");
	SAME(receive(server, 0)->len, 0);
}

CASE(backlog_overflow_refuses)
{
	int listener = bound(ONE);
	WORKS(listen(listener, 1));
	int refused = 0, more[4];
	for (int n = 0; n < 4; n++) {
		more[n] = new_socket(ONE);
		int result = dial(more[n], port(listener)), number = errno;
		if (result != 0) {
			SAME(number, ECONNREFUSED);
			refused++;
		}
	}
	CHECK(refused > 0);
}
