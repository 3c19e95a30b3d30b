/* poll, select, epoll, non-blocking calls; and connecting again after a failure. */
#include "test.h"
#include <sys/epoll.h>
#include <sys/select.h>

enum { PORT = 5031 };

static int said(int fd, int events, int timeout)
{
	struct pollfd set = { .fd = fd, .events = events };
	CHECK(poll(&set, 1, timeout) >= 0);
	return set.revents;
}

static int ready(int fd, int events, int timeout)
{
	return said(fd, events, timeout) & events;
}

static void nonblock(int fd)
{
	CHECK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

static int pending(int fd)
{
	int error;
	socklen_t len = sizeof error;
	CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0);
	return error;
}

//= RFC 6458 1-3
static void all_three(void)
{
	int server = listener(SOCK_STREAM, PORT), there;
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, PORT);
	int here = socket(family, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_SCTP);
	char byte;

	nonblock(server);
	FAILS(accept(server, NULL, NULL), EAGAIN);
	CHECK(!ready(server, POLLIN, 0));
	FAILS(connect(here, (struct sockaddr *)&to, len), EINPROGRESS);
	CHECK(ready(here, POLLOUT, 10000));
	CHECK(pending(here) == 0);
	CHECK(ready(server, POLLIN, 10000));
	there = accept(server, NULL, NULL);
	CHECK(there >= 0);
	nonblock(there);

	FAILS(recv(there, &byte, 1, 0), EAGAIN);
	FAILS(recv(here, &byte, 1, MSG_DONTWAIT), EAGAIN);
	CHECK(!ready(there, POLLIN, 0) && ready(there, POLLOUT, 0));
	CHECK(send(here, "ab", 2, 0) == 2);

	fd_set set;
	FD_ZERO(&set);
	FD_SET(there, &set);
	struct timeval patience = { 10, 0 };
	CHECK(select(there + 1, &set, NULL, NULL, &patience) == 1 && FD_ISSET(there, &set));
	CHECK(recv(there, &byte, 1, 0) == 1);
	/* The rest of the message is still there. */
	CHECK(ready(there, POLLIN, 0));
	CHECK(recv(there, &byte, 1, 0) == 1 && byte == 'b');
	CHECK(!ready(there, POLLIN, 0));

	int epoll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.fd = there };
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, there, &event) == 0);
	CHECK(epoll_wait(epoll, &event, 1, 0) == 0);
	CHECK(send(here, "x", 1, 0) == 1);
	CHECK(epoll_wait(epoll, &event, 1, 10000) == 1 && event.data.fd == there);
	CHECK(recv(there, &byte, 1, 0) == 1);
	close(epoll);

	/* Who writes more than fits is told to wait, and told when to go on. */
	static char block[50000];
	long sent = 0, taken = 0;
	nonblock(here);
	for (int quiet = 0; quiet < 5;) {
		ssize_t n = send(here, block, sizeof block, 0);
		CHECK(n == sizeof block || errno == EAGAIN);
		if (n > 0)
			sent += n;
		quiet = n > 0 ? 0 : quiet + 1;
		if (n < 0)
			usleep(50000);
	}
	CHECK(sent > 0);
	while (taken < sent) {
		CHECK(ready(there, POLLIN, 10000));
		ssize_t n = recv(there, block, sizeof block, 0);
		CHECK(n > 0);
		taken += n;
	}
	CHECK(ready(here, POLLOUT, 10000));

	/* The end is readable. */
	close(here);
	CHECK(ready(there, POLLIN, 10000));
	CHECK(recv(there, &byte, 1, 0) == 0);
	close(there);
	close(server);
}

/* After a connect that failed, the same socket connects again. */
static void again(void)
{
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, PORT);
	int fd = socket(family, SOCK_STREAM, IPPROTO_SCTP), there;
	char byte;

	FAILS(connect(fd, (struct sockaddr *)&to, len), ECONNREFUSED);
	FAILS(connect(fd, (struct sockaddr *)&to, len), ECONNREFUSED);
	FAILS(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	nonblock(fd);
	FAILS(connect(fd, (struct sockaddr *)&to, len), EINPROGRESS);
	/* Events of two descriptors bear the same here. */
	int epoll = epoll_create1(0), pipes[2];
	struct epoll_event event = { .events = EPOLLOUT };
	CHECK(pipe(pipes) == 0);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
	CHECK(said(fd, POLLOUT, 10000) == POLLERR);
	CHECK(epoll_wait(epoll, &event, 1, 10000) == 1 && event.events == EPOLLERR);
	event.events = EPOLLIN;
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], &event) == 0);
	CHECK(pending(fd) == ECONNREFUSED);
	CHECK(pending(fd) == 0);
	/* It is like a new socket. */
	CHECK(said(fd, POLLIN | POLLOUT, 0) == 0);
	close(pipes[1]);
	CHECK(epoll_wait(epoll, &event, 1, 10000) == 1 && event.events == EPOLLHUP);
	close(pipes[0]);
	close(epoll);

	int server = listener(SOCK_STREAM, PORT);
	FAILS(connect(fd, (struct sockaddr *)&to, len), EINPROGRESS);
	CHECK(ready(fd, POLLOUT, 10000));
	CHECK(pending(fd) == 0);
	FAILS(connect(fd, (struct sockaddr *)&to, len), EISCONN);
	there = accept(server, NULL, NULL);
	CHECK(there >= 0);
	CHECK(send(there, "y", 1, 0) == 1);
	/* What the failures left behind is not taken for the end. */
	ssize_t n;
	do {
		CHECK(ready(fd, POLLIN, 10000));
		n = recv(fd, &byte, 1, 0);
	} while (n < 0 && errno == EAGAIN);
	CHECK(n == 1 && byte == 'y');
	CHECK(send(fd, "z", 1, 0) == 1);
	CHECK(recv(there, &byte, 1, 0) == 1 && byte == 'z');
	close(there);
	CHECK(ready(fd, POLLIN, 10000));
	CHECK(recv(fd, &byte, 1, 0) == 0);
	close(fd);
	close(server);
}

/* Messages that take several frames to the engine, to a peer that does not read: nobody waits who does not
 * want to, `poll` agrees, and all arrive that were taken. */
static void long_messages(void)
{
	static char message[300000], got[300000];
	int server = listener(SOCK_STREAM, PORT), there, taken = 0, sent, n;
	int here = pair(server, PORT, &there);

	nonblock(here);
	for (;;) {
		memset(message, 'a' + taken % 26, sizeof message);
		if (send(here, message, sizeof message, 0) < 0)
			break;
		CHECK(++taken < 1000);
	}
	CHECK(errno == EAGAIN && taken > 0);
	CHECK(!ready(here, POLLOUT, 100));
	/* Who wants to wait may, and a signal or SO_SNDTIMEO ends that. */
	struct timeval patience = { 0, 50000 };
	CHECK(setsockopt(here, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0);
	CHECK(fcntl(here, F_SETFL, fcntl(here, F_GETFL) & ~O_NONBLOCK) == 0);
	FAILS(send(here, message, sizeof message, 0), EAGAIN);
	FAILS(send(here, message, sizeof message, MSG_DONTWAIT), EAGAIN);
	nonblock(here);

	for (n = 0, sent = taken; n < sent; n++) {
		int len = 0;
		while (len < (int)sizeof got) {
			ssize_t more = recv(there, got + len, sizeof got - len, 0);
			CHECK(more > 0);
			len += more;
		}
		CHECK(got[0] == 'a' + n % 26 && memcmp(got, got + 1, sizeof got - 1) == 0);
		/* There is room again, sooner or later, and `poll` says so. */
		if (sent == taken && n > 0 && ready(here, POLLOUT, 100)) {
			memset(message, 'a' + taken % 26, sizeof message);
			if (send(here, message, sizeof message, 0) >= 0)
				sent++;
		}
	}
	CHECK(sent == taken + 1);
	CHECK(ready(here, POLLOUT, 10000));
	CHECK(close(here) == 0 && close(there) == 0 && close(server) == 0);
}

int main(int argc, char **argv)
{
	start(argc, argv);
	all_three();
	again();
	long_messages();
	return 0;
}
