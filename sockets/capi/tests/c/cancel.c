/* Threads that wait in accept, recvmsg and read can be cancelled (pthread_cancel of POSIX), on SCTP
 * sockets and on others. Only under `tresse run`: the functions of libtresse are no cancellation
 * points. */
#include "test.h"
#include <pthread.h>

enum { PORT = 5001 };

static int cleaned;

static void note(void *unused)
{
	(void)unused;
	cleaned++;
}

static void *accepts(void *sock)
{
	pthread_cleanup_push(note, NULL);
	accept(*(int *)sock, NULL, NULL);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *receives(void *sock)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	pthread_cleanup_push(note, NULL);
	recvmsg(*(int *)sock, &message, 0);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *reads(void *sock)
{
	char byte;

	pthread_cleanup_push(note, NULL);
	while (read(*(int *)sock, &byte, 1) > 0)
		;
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel(void *(*body)(void *), int sock)
{
	pthread_t thread;
	void *result = NULL;
	int before = cleaned;

	CHECK(pthread_create(&thread, NULL, body, &sock) == 0);
	usleep(50000);
	CHECK(pthread_cancel(thread) == 0);
	CHECK(pthread_join(thread, &result) == 0);
	CHECK(result == PTHREAD_CANCELED);
	CHECK(cleaned == before + 1);
}

int main(int argc, char **argv)
{
	int pipe_[2], datagrams = socket(AF_INET, SOCK_DGRAM, 0), there;

	start(argc, argv);
	CHECK(pipe(pipe_) == 0);
	cancel(reads, pipe_[0]);
	cancel(receives, datagrams);

	int server = listener(SOCK_STREAM, PORT), here = pair(server, PORT, &there);
	cancel(accepts, server);
	cancel(receives, here);
	cancel(reads, there);
	/* After a byte: the wait is the second one. */
	CHECK(write(here, "x", 1) == 1);
	cancel(reads, there);
	/* All of them go on. */
	CHECK(write(there, "y", 1) == 1);
	char byte;
	CHECK(read(here, &byte, 1) == 1 && byte == 'y');
	return 0;
}
