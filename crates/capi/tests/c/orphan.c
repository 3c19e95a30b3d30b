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

int main(void)
{
	alarm(60);
	int server = listener(SOCK_STREAM, PORT), there;
	int here = pair(server, PORT, &there);
	struct pollfd set = { .fd = here, .events = POLLIN };
	pthread_t thread;
	char byte;

	CHECK(pthread_create(&thread, NULL, block, &there) == 0);
	CHECK(kill(getppid(), SIGKILL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(blocked_result == -1 && blocked_error == ECONNRESET);
	CHECK(poll(&set, 1, 10000) == 1 && set.revents & (POLLIN | POLLHUP));
	FAILS(recv(here, &byte, 1, 0), ECONNRESET);
	CHECK(send(here, "x", 1, MSG_NOSIGNAL) == -1);
	CHECK(errno == EPIPE || errno == ECONNRESET || errno == ENETDOWN);
	FAILS(listen(here, 5), ENETDOWN);
	FAILS(socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), ENETDOWN);
	CHECK(close(here) == 0 && close(there) == 0 && close(server) == 0);
	puts("every call has ended");
	return 0;
}
