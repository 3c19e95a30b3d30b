/* A peer that does not read: it keeps nobody else of a one-to-many socket waiting (RFC 6458 3.3). */
#include "test.h"
#include <sys/time.h>
#include <sys/wait.h>

enum { SIZE = 1000 };

static struct sockaddr_storage at[2];
static socklen_t len;

/* A socket that listens at `at[n]`. */
static int listening(int n)
{
	int fd = socket(family, SOCK_STREAM, IPPROTO_SCTP), size = 50000;
	len = name(&at[n], loopback, 5097 + n);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) == 0);
	CHECK(bind(fd, (struct sockaddr *)&at[n], len) == 0);
	CHECK(listen(fd, 5) == 0);
	return fd;
}

static long send_to(int fd, int n, int number)
{
	int message[SIZE / sizeof(int)] = { number };
	return sendto(fd, message, sizeof message, 0, (struct sockaddr *)&at[n], len);
}

static int receive(int fd)
{
	int message[SIZE / sizeof(int)];
	CHECK(recv(fd, message, sizeof message, MSG_WAITALL) == sizeof message);
	return message[0];
}

int main(int argc, char **argv)
{
	start(argc, argv);
	int listeners[] = { listening(0), listening(1) }, peers[2], size = 20000;
	int fd = socket(family, SOCK_SEQPACKET, IPPROTO_SCTP);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size) == 0);
	for (int n = 0; n < 2; n++) {
		CHECK(send_to(fd, n, 0) == SIZE);
		CHECK((peers[n] = accept(listeners[n], NULL, NULL)) >= 0);
	}
	CHECK(receive(peers[1]) == 0);

	/* Until there is no room for 300 ms. The descriptor does not seem to be writable all the time. */
	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	int sent = 1, wakes = 0;
	for (int waited = 0; waited < 300;) {
		if (send_to(fd, 0, sent) == SIZE) {
			sent++;
			waited = 0;
			continue;
		}
		CHECK(errno == EAGAIN);
		struct pollfd watched = { .fd = fd, .events = POLLOUT };
		wakes += poll(&watched, 1, 5);
		waited += 5;
		CHECK(sent < 10000 && wakes < 2000);
	}
	for (int n = 1; n < 300; n++) {
		CHECK(send_to(fd, 1, n) == SIZE);
		CHECK(receive(peers[1]) == n);
	}
	FAILS(send_to(fd, 0, sent), EAGAIN);

	/* Who blocks waits for that one alone, and no longer than SO_SNDTIMEO says. */
	struct timeval patience = { .tv_usec = 200000 };
	CHECK(fcntl(fd, F_SETFL, 0) == 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0);
	FAILS(send_to(fd, 0, sent), EAGAIN);
	CHECK(send_to(fd, 1, 300) == SIZE);
	CHECK(receive(peers[1]) == 300);

	for (int n = 0; n < sent; n++)
		CHECK(receive(peers[0]) == n);
	patience.tv_sec = 20;
	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0);
	/* Now it is read all the time, and all of it arrives, however often the sender has to wait. */
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		for (int n = 0; n < 3000; n++)
			CHECK(receive(peers[0]) == n);
		_exit(0);
	}
	for (int n = 0; n < 3000; n++)
		CHECK(send_to(fd, 0, n) == SIZE);
	int status;
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}
