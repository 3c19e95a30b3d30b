/* How associations and sockets end: shutdown, close, linger, SCTP_EOF, SCTP_ABORT, SCTP_SENDALL; and what
 * poll, select and epoll say of sockets in each state. */
#include "suite.h"
#include <sys/epoll.h>
#include <sys/select.h>

static void abort_at_close(int fd)
{
	struct linger at_once = { 1, 0 };
	WORKS(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
	close(fd);
}

static const struct way {
	const char *label;
	int how, number;
} ways[] = {
	{ "read", SHUT_RD, 0 },    { "write", SHUT_WR, 0 }, { "both", SHUT_RDWR, 0 },
	{ "negative", -1, EINVAL }, { "unknown", 3, EINVAL },
};

EACH(shutdown_connected, ways)
{
	struct pair pair = paired(ONE);
	FAILS(shutdown(pair.client, row->how), row->number);
}

EACH(shutdown_peeled_off, ways)
{
	struct pair pair = paired(PEELED);
	FAILS(shutdown(pair.client, row->how), row->number);
}

EACH(shutdown_unconnected, ways)
{
	FAILS(shutdown(new_socket(ONE), row->how), row->number ? row->number : ENOTCONN);
}

CASE(shutdown_twice)
{
	struct pair pair = paired(ONE);
	WORKS(shutdown(pair.client, SHUT_WR));
	SAME(receive(pair.server, 0)->len, 0);
	WORKS(shutdown(pair.client, SHUT_WR));
}

CASE(shutdown_delivers_what_was_sent)
{
	struct pair pair = paired(ONE);
	SENDS(pair.client, "last");
	WORKS(shutdown(pair.client, SHUT_WR));
	ARRIVES(pair.server, "last");
	SAME(receive(pair.server, 0)->len, 0);
}

CASE(shutdown_read_alone_goes_on_sending)
{
	struct pair pair = paired(ONE);
	WORKS(shutdown(pair.client, SHUT_RD));
	SENDS(pair.client, "still");
	ARRIVES(pair.server, "still");
}

CASE(shutdown_read_and_data)
{
	struct pair pair = paired(ONE);
	SENDS(pair.server, "before");
	CHECK(wait_for(pair.client, POLLIN) & POLLIN);
	WORKS(shutdown(pair.client, SHUT_RD));
	ARRIVES(pair.client, "before");
	SAME(receive(pair.client, 0)->len, 0);
}

//= RFC 6458 3.1.5-1 3.2-1
CASE(eof_ends_one_association)
{
	struct pair pair = paired(MANY), other = joined(pair.server);
	WORKS(end_with(pair.server, pair.server_id, SCTP_EOF));
	WORKS(subscribe(other.client, SCTP_SHUTDOWN_EVENT, true));
	CHECK(say(&other, true, "alive") == 5);
	ARRIVES(pair.server, "alive");
	CHECK(quiet(other.client));
}

CASE(abort_ends_one_association)
{
	struct pair pair = paired(MANY), other = joined(pair.server);
	WORKS(end_with(pair.server, pair.server_id, SCTP_ABORT));
	CHECK(say(&other, true, "alive") == 5);
	ARRIVES(pair.server, "alive");
}

CASE(eof_delivers_what_was_sent)
{
	struct pair pair = paired(MANY);
	say(&pair, true, "last");
	WORKS(end_with(pair.client, pair.client_id, SCTP_EOF));
	ARRIVES(pair.server, "last");
}

CASE(eof_with_data)
{
	struct pair pair = paired(MANY);
	struct sctp_sndinfo info = { .snd_assoc_id = pair.client_id, .snd_flags = SCTP_EOF };
	FAILS(send_with(pair.client, "last", SCTP_SNDINFO, &info, sizeof info), EINVAL);
	CHECK(say(&pair, true, "alive") == 5);
	ARRIVES(pair.server, "alive");
}

CASE(send_after_eof)
{
	struct pair pair = paired(MANY);
	WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, true));
	WORKS(end_with(pair.client, pair.client_id, SCTP_EOF));
	/* Before that the kernel says ESHUTDOWN. */
	CHANGED(pair.client, SCTP_SHUTDOWN_COMP);
	FAILS(say(&pair, true, "late"), EPIPE);
}

CASE(connect_again_after_eof)
{
	struct pair pair = paired(MANY);
	WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, true));
	WORKS(end_with(pair.client, pair.client_id, SCTP_EOF));
	CHANGED(pair.client, SCTP_SHUTDOWN_COMP);
	WORKS(dial(pair.client, port(pair.listener)));
	CHANGED(pair.client, SCTP_COMM_UP);
}

CASE(sendall_reaches_all)
{
	struct pair pair = paired(MANY), other = joined(pair.server);
	struct sctp_sndinfo info = { .snd_flags = SCTP_SENDALL };
	FAILS(send_with(pair.server, "all", SCTP_SNDINFO, &info, sizeof info), 0);
	ARRIVES(pair.client, "all");
	ARRIVES(other.client, "all");
}

CASE(sendall_and_eof)
{
	struct pair pair = paired(MANY), other = joined(pair.server);
	struct sctp_sndinfo info = { .snd_flags = SCTP_SENDALL | SCTP_EOF };
	WORKS(subscribe(pair.client, SCTP_SHUTDOWN_EVENT, true));
	WORKS(subscribe(other.client, SCTP_SHUTDOWN_EVENT, true));
	FAILS(send_with(pair.server, "", SCTP_SNDINFO, &info, sizeof info), 0);
	TOLD(pair.client, SCTP_SHUTDOWN_EVENT);
	TOLD(other.client, SCTP_SHUTDOWN_EVENT);
}

CASE(sendall_without_associations)
{
	struct sctp_sndinfo info = { .snd_flags = SCTP_SENDALL };
	FAILS(send_with(bound(MANY), "all", SCTP_SNDINFO, &info, sizeof info), 0);
}

EACH(close_is_told, all_kinds)
{
	struct pair pair = paired(row->kind);
	WORKS(subscribe(pair.server, SCTP_SHUTDOWN_EVENT, true));
	close(pair.client);
	TOLD(pair.server, SCTP_SHUTDOWN_EVENT);
}

CASE(close_of_a_one_to_many_socket_ends_all)
{
	struct pair pair = paired(MANY), other = joined(pair.server);
	WORKS(subscribe(pair.client, SCTP_SHUTDOWN_EVENT, true));
	WORKS(subscribe(other.client, SCTP_SHUTDOWN_EVENT, true));
	close(pair.server);
	TOLD(pair.client, SCTP_SHUTDOWN_EVENT);
	TOLD(other.client, SCTP_SHUTDOWN_EVENT);
}

CASE(close_with_unread_data_aborts)
{
	struct pair pair = paired(ONE);
	SENDS(pair.client, "unread");
	CHECK(wait_for(pair.server, POLLIN) & POLLIN);
	close(pair.server);
	FAILS(receive(pair.client, 0)->len, ECONNRESET);
}

CASE(close_of_a_listener_ends_what_waits)
{
	int listener = listening(ONE), client = bound(ONE);
	WORKS(dial(client, port(listener)));
	close(listener);
	CHECK(wait_for(client, POLLIN) & (POLLIN | POLLERR));
	CHECK(receive(client, 0)->len <= 0);
}

CASE(linger_waits_for_the_end)
{
	struct pair pair = paired(ONE);
	struct linger a_while = { 1, 5 };
	long long before = clock_ms();
	WORKS(setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &a_while, sizeof a_while));
	SENDS(pair.client, "last");
	WORKS(close(pair.client));
	CHECK(clock_ms() - before < 1900);
	ARRIVES(pair.server, "last");
	SAME(receive(pair.server, 0)->len, 0);
}

static const struct lingering {
	const char *label;
	struct linger linger;
} lingerings[] = { { "off", { 0, 0 } }, { "zero", { 1, 0 } }, { "time", { 1, 7 } } };

//= RFC 6458 8.1.4-1
EACH(linger_reads_back, lingerings)
{
	int fd = new_socket(ONE);
	struct linger got = { -1, -1 };
	socklen_t len = sizeof got;
	WORKS(setsockopt(fd, SOL_SOCKET, SO_LINGER, &row->linger, sizeof row->linger));
	WORKS(getsockopt(fd, SOL_SOCKET, SO_LINGER, &got, &len));
	SAME(got.l_onoff, row->linger.l_onoff);
	SAME(got.l_linger, row->linger.l_linger);
}

CASE(error_after_abort_comes_once)
{
	struct pair pair = paired(ONE);
	abort_at_close(pair.server);
	FAILS(receive(pair.client, 0)->len, ECONNRESET);
	FAILS(receive(pair.client, 0)->len, ENOTCONN);
}

CASE(so_error_after_abort)
{
	struct pair pair = paired(ONE);
	abort_at_close(pair.server);
	CHECK(wait_for(pair.client, POLLIN) != 0);
	SAME(get_int(pair.client, SOL_SOCKET, SO_ERROR), ECONNRESET);
	SAME(get_int(pair.client, SOL_SOCKET, SO_ERROR), 0);
}

CASE(send_after_abort)
{
	struct pair pair = paired(ONE);
	abort_at_close(pair.server);
	CHECK(wait_for(pair.client, POLLIN) != 0);
	FAILS(send(pair.client, "x", 1, MSG_NOSIGNAL), ECONNRESET);
	FAILS(send(pair.client, "x", 1, MSG_NOSIGNAL), EPIPE);
}

CASE(unread_data_survives_an_abort)
{
	struct pair pair = paired(ONE);
	SENDS(pair.server, "there");
	CHECK(wait_for(pair.client, POLLIN) & POLLIN);
	abort_at_close(pair.server);
	struct timespec rest = { .tv_nsec = 50000000 };
	nanosleep(&rest, NULL);
	ARRIVES(pair.client, "there");
	FAILS(receive(pair.client, 0)->len, ECONNRESET);
}

CASE(status_after_the_end)
{
	struct pair pair = paired(ONE);
	struct sctp_status status = { 0 };
	socklen_t len = sizeof status;
	close(pair.server);
	SAME(receive(pair.client, 0)->len, 0);
	FAILS(getsockopt(pair.client, IPPROTO_SCTP, SCTP_STATUS, &status, &len), EINVAL);
}

CASE(connect_again_after_the_end)
{
	struct pair pair = paired(ONE);
	close(pair.server);
	SAME(receive(pair.client, 0)->len, 0);
	FAILS(dial(pair.client, port(pair.listener)), EISCONN);
}

CASE(closed_descriptor)
{
	int fd = new_socket(ONE);
	WORKS(close(fd));
	FAILS(close(fd), EBADF);
	FAILS(dial(fd, 5), EBADF);
	FAILS(listen(fd, 5), EBADF);
	FAILS(send(fd, "x", 1, MSG_NOSIGNAL), EBADF);
	FAILS(receive(fd, 0)->len, EBADF);
	FAILS(shutdown(fd, SHUT_WR), EBADF);
	FAILS(set_int(fd, IPPROTO_SCTP, SCTP_NODELAY, 1), EBADF);
	FAILS(sctp_peeloff(fd, 1), EBADF);
}

/* States, and what poll() says of them. */
enum place {
	NEW_ONE,
	NEW_MANY,
	BOUND_ONE,
	LISTENER,
	LISTENER_CALLED,
	LISTENER_MANY,
	IDLE,
	IDLE_MANY,
	READABLE,
	READABLE_MANY,
	READABLE_PEELED,
	FULL,
	SHUT_HERE,
	SHUT_THERE,
	CLOSED_THERE,
	CLOSED_UNREAD,
	ABORTED,
	ABORTED_WITH_DATA,
	REFUSED,
};

static const struct readiness {
	const char *label;
	enum place place;
	int events;
} readinesses[] = {
	{ "new_one", NEW_ONE, 0 },
	{ "new_many", NEW_MANY, POLLOUT },
	{ "bound_one", BOUND_ONE, 0 },
	{ "listener", LISTENER, 0 },
	{ "listener_called", LISTENER_CALLED, POLLIN },
	{ "listener_many", LISTENER_MANY, POLLOUT },
	{ "idle", IDLE, POLLOUT },
	{ "idle_many", IDLE_MANY, POLLOUT },
	{ "readable", READABLE, POLLIN | POLLOUT },
	{ "readable_many", READABLE_MANY, POLLIN | POLLOUT },
	{ "readable_peeled", READABLE_PEELED, POLLIN | POLLOUT },
	{ "full", FULL, 0 },
	{ "shut_here", SHUT_HERE, POLLOUT },
	{ "shut_there", SHUT_THERE, POLLIN | POLLOUT | POLLRDHUP },
	{ "closed_there", CLOSED_THERE, POLLIN | POLLOUT | POLLRDHUP },
	{ "closed_unread", CLOSED_UNREAD, POLLIN | POLLOUT | POLLRDHUP },
	{ "aborted", ABORTED, POLLOUT | POLLERR },
	{ "aborted_with_data", ABORTED_WITH_DATA, POLLIN | POLLOUT | POLLERR },
	{ "refused", REFUSED, POLLERR },
};

static int in_place(enum place place)
{
	struct timespec rest = { .tv_nsec = 50000000 };
	static char block[10000];
	struct pair pair;
	int fd, nobody;
	switch (place) {
	case NEW_ONE:
		return new_socket(ONE);
	case NEW_MANY:
		return new_socket(MANY);
	case BOUND_ONE:
		return bound(ONE);
	case LISTENER:
		return listening(ONE);
	case LISTENER_CALLED:
		fd = listening(ONE);
		WORKS(dial(bound(ONE), port(fd)));
		CHECK(wait_for(fd, POLLIN) & POLLIN);
		return fd;
	case LISTENER_MANY:
		return listening(MANY);
	case REFUSED:
		nobody = bound(ONE);
		fd = new_socket(ONE);
		nonblocking(fd);
		CHECK(dial(fd, port(nobody)) == -1);
		nanosleep(&rest, NULL);
		return fd;
	default:
		break;
	}
	pair = paired(place == IDLE_MANY || place == READABLE_MANY ? MANY :
		      place == READABLE_PEELED			   ? PEELED :
								     ONE);
	switch (place) {
	case READABLE:
	case READABLE_MANY:
	case READABLE_PEELED:
		CHECK(say(&pair, false, "x") == 1);
		break;
	case FULL:
		nonblocking(pair.client);
		/* Until also what lies on the way is full, also on a busy machine. */
		do
			while (send(pair.client, block, sizeof block, 0) > 0)
				continue;
		while (wait_for(pair.client, POLLOUT));
		break;
	case SHUT_HERE:
		WORKS(shutdown(pair.client, SHUT_WR));
		break;
	case SHUT_THERE:
		WORKS(shutdown(pair.server, SHUT_WR));
		break;
	case CLOSED_UNREAD:
		SENDS(pair.server, "x");
		__attribute__((fallthrough));
	case CLOSED_THERE:
		close(pair.server);
		break;
	case ABORTED_WITH_DATA:
		SENDS(pair.server, "x");
		CHECK(wait_for(pair.client, POLLIN) & POLLIN);
		__attribute__((fallthrough));
	case ABORTED:
		abort_at_close(pair.server);
		break;
	default:
		break;
	}
	nanosleep(&rest, NULL);
	return pair.client;
}

enum { ALL = POLLIN | POLLOUT | POLLRDHUP };

/* Packets take a while on a busy machine. */
static int settled(const struct readiness *row)
{
	struct timespec rest = { .tv_nsec = 5000000 };
	int fd = in_place(row->place);
	long long until = clock_ms() + 1000;
	while (now(fd, ALL) != row->events && clock_ms() < until)
		nanosleep(&rest, NULL);
	return fd;
}

EACH(poll_says, readinesses)
{
	SAME(now(settled(row), ALL), row->events);
}

EACH(epoll_says, readinesses)
{
	int fd = settled(row), set = epoll_create1(0);
	struct epoll_event wanted = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP }, got = { 0 };
	WORKS(epoll_ctl(set, EPOLL_CTL_ADD, fd, &wanted));
	SAME(epoll_wait(set, &got, 1, 0), row->events != 0);
	SAME(got.events, row->events);
}

EACH(select_says, readinesses)
{
	int fd = settled(row);
	struct timeval none = { 0, 0 };
	fd_set readable, writable;
	FD_ZERO(&readable);
	FD_ZERO(&writable);
	FD_SET(fd, &readable);
	FD_SET(fd, &writable);
	CHECK(select(fd + 1, &readable, &writable, NULL, &none) >= 0);
	SAME(!!FD_ISSET(fd, &readable), !!(row->events & (POLLIN | POLLHUP | POLLERR)));
	SAME(!!FD_ISSET(fd, &writable), !!(row->events & (POLLOUT | POLLERR)));
}

CASE(epoll_edge_for_each_message)
{
	struct pair pair = paired(ONE);
	struct epoll_event wanted = { .events = EPOLLIN | EPOLLET }, got;
	int set = epoll_create1(0);
	WORKS(epoll_ctl(set, EPOLL_CTL_ADD, pair.server, &wanted));
	SENDS(pair.client, "one");
	SAME(epoll_wait(set, &got, 1, 1000), 1);
	ARRIVES(pair.server, "one");
	SENDS(pair.client, "two");
	SAME(epoll_wait(set, &got, 1, 1000), 1);
	ARRIVES(pair.server, "two");
}
