/* Processes that end: by themselves with data under way, or killed. */
#include "test.h"
#include <signal.h>
#include <sys/wait.h>

enum { PORT = 5061, MESSAGES = 100 };

static int go[2];

static int dial(void)
{
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, PORT);
	int fd = socket(family, SOCK_STREAM, IPPROTO_SCTP);
	CHECK(fd >= 0);
	CHECK(connect(fd, (struct sockaddr *)&to, len) == 0);
	return fd;
}

/* Sends, and exits without waiting for anything; with its own engine, if engines are in processes. */
static void leave(void)
{
	static char block[5000];
	char byte;
	alarm(60);
	CHECK(read(go[0], &byte, 1) == 1);
#ifndef TEST_LKSCTP
	struct tresse_config config = { .size = sizeof config, .udp_port = -1 };
	config.peer_udp_port = atoi(getenv("TEST_UDP_PORT"));
	CHECK(tresse_start(&config) == 0);
#endif
	int fd = dial();
	for (int n = 0; n < MESSAGES; n++) {
		memset(block, n, sizeof block);
		CHECK(send(fd, block, sizeof block, 0) == sizeof block);
	}
	exit(0);
}

/* Connects, sends a byte, and does nothing any more. */
static pid_t idle(void)
{
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		alarm(60);
		int fd = dial();
		CHECK(send(fd, "x", 1, 0) == 1);
		for (;;)
			pause();
	}
	return child;
}

int main(int argc, char **argv)
{
	static char block[5000];
	char byte;
	int status;

	if (argc > 1 && strcmp(argv[1], "6") == 0)
		return 77;
	CHECK(pipe(go) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0)
		leave();
	start(argc, argv);
	int server = listener(SOCK_STREAM, PORT);

	/* All that was sent before the end arrives. */
	CHECK(write(go[1], "x", 1) == 1);
	int fd = accept(server, NULL, NULL);
	CHECK(fd >= 0);
	for (int n = 0; n < MESSAGES; n++) {
		CHECK(recv(fd, block, sizeof block, MSG_WAITALL) == sizeof block);
		CHECK(block[0] == (char)n && block[sizeof block - 1] == (char)n);
	}
	CHECK(recv(fd, block, sizeof block, 0) == 0);
	close(fd);
	CHECK(waitpid(child, &status, 0) == child && status == 0);

	/* Killed: as if it had closed its sockets. A child uses the engine of its parent. */
	child = idle();
	fd = accept(server, NULL, NULL);
	CHECK(fd >= 0 && recv(fd, &byte, 1, 0) == 1);
	CHECK(kill(child, SIGKILL) == 0);
	CHECK(recv(fd, &byte, 1, 0) == 0);
	close(fd);
	CHECK(waitpid(child, &status, 0) == child && WTERMSIG(status) == SIGKILL);

	/* Killed with data that it did not read: the association is aborted. */
	child = idle();
	fd = accept(server, NULL, NULL);
	CHECK(fd >= 0 && recv(fd, &byte, 1, 0) == 1);
	CHECK(event(fd, SCTP_SENDER_DRY_EVENT, 1) == 0);
	told(fd, SCTP_SENDER_DRY_EVENT);
	CHECK(send(fd, "y", 1, 0) == 1);
	told(fd, SCTP_SENDER_DRY_EVENT);
	CHECK(kill(child, SIGKILL) == 0);
	CHECK(waitpid(child, &status, 0) == child);
	FAILS(recv(fd, &byte, 1, 0), ECONNRESET);
	close(fd);
	close(server);
	return 0;
}
