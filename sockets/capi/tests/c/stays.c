/* A server that says how its association ends; and a client that stays, with data that nobody takes. */
#include "test.h"

enum { PORT = 5091 };

static void serve(void)
{
	static char text[1000];
	int server = listener(SOCK_STREAM, PORT);
	ssize_t n;

	puts("ready");
	fflush(stdout);
	int fd = accept(server, NULL, NULL);
	CHECK(fd >= 0);
	puts("accepted");
	fflush(stdout);
	/* The client has more to say than there is room for, until this one reads. */
	sleep(1);
	while ((n = recv(fd, text, sizeof text, 0)) > 0)
		;
	puts(n == 0 ? "shut down" : strerror(errno));
}

static void stay(void)
{
	static char block[1000];
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, PORT);
	int fd = socket(family, SOCK_STREAM, IPPROTO_SCTP);

	CHECK(connect(fd, (struct sockaddr *)&to, len) == 0);
	CHECK(send(fd, block, sizeof block, 0) == sizeof block);
	printf("%d\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	(void)argv;
	alarm(60);
	if (argc > 1)
		stay();
	else
		serve();
	return 0;
}
