/* Kills the engine that serves it (`tresse run`, its parent): every call ends, with an error. */
#include "test.h"
#include <pthread.h>
#include <signal.h>

enum { PORT = 5071 };

static int blocked_error, blocked_result;

/* Blocks in recv() while the engine dies. */
static void *block(void *fd)
{
	char byte;
	blocked_result = recv(*(int *)fd, &byte, 1, 0);
	blocked_error = errno;
	return NULL;
}

static int polled;

/* Blocks in poll(), for ever, while the engine dies. */
static void *watch(void *fd)
{
	struct pollfd set = { .fd = *(int *)fd, .events = POLLIN };
	polled = poll(&set, 1, -1) == 1 ? set.revents : -1;
	return NULL;
}

int main(void)
{
	alarm(60);
	int server = listener(SOCK_STREAM, PORT), there;
	int here = pair(server, PORT, &there);
	int many = listener(SOCK_SEQPACKET, PORT + 1);
	int all[] = { here, there, server, many };
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, PORT + 1);
	int sender = socket(family, SOCK_SEQPACKET, IPPROTO_SCTP);
	CHECK(sendto(sender, "m", 1, 0, (struct sockaddr *)&to, len) == 1);
	struct pollfd arrived = { .fd = many, .events = POLLIN };
	CHECK(poll(&arrived, 1, 10000) == 1);
	pthread_t thread, watcher;
	char byte;

	CHECK(pthread_create(&thread, NULL, block, &there) == 0);
	CHECK(pthread_create(&watcher, NULL, watch, &here) == 0);
	usleep(100000);
	CHECK(kill(getppid(), SIGKILL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(pthread_join(watcher, NULL) == 0);
	CHECK((polled & (POLLERR | POLLHUP)) == (POLLERR | POLLHUP));
	CHECK(blocked_result == -1 && blocked_error == ENETDOWN);
	for (unsigned n = 0; n < sizeof all / sizeof *all; n++) {
		struct pollfd set = { .fd = all[n], .events = POLLIN };
		CHECK(poll(&set, 1, 10000) == 1);
		CHECK((set.revents & (POLLERR | POLLHUP)) == (POLLERR | POLLHUP));
		FAILS(send(all[n], "x", 1, MSG_NOSIGNAL), ENETDOWN);
		FAILS(listen(all[n], 5), ENETDOWN);
		int error;
		socklen_t len = sizeof error;
		CHECK(getsockopt(all[n], SOL_SOCKET, SO_ERROR, &error, &len) == 0);
		CHECK(error == ENETDOWN);
	}
	FAILS(recv(here, &byte, 1, 0), ENETDOWN);
	/* What had arrived is still there. */
	CHECK(recv(many, &byte, 1, 0) == 1 && byte == 'm');
	FAILS(recv(many, &byte, 1, 0), ENETDOWN);
	FAILS(accept(server, NULL, NULL), ENETDOWN);
	FAILS(socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), ENETDOWN);
	CHECK(close(here) == 0 && close(there) == 0 && close(server) == 0);
	puts("every call has ended");
	return 0;
}
