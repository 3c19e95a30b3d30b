/* A child that outlives the process whose engine it uses: every call ends, with an error, and the UDP port is
 * free. Until then the child has its parent's sockets, and all its own of other kinds. */
#include "test.h"

enum { PORT = 5072 };

static void outlive(int here, int there, int parent, int own)
{
	struct pollfd set = { .fd = here, .events = POLLIN };
	struct sockaddr_in udp;
	socklen_t len = sizeof udp;
	char byte;

	CHECK(getsockname(own, (struct sockaddr *)&udp, &len) == 0);
	CHECK(udp.sin_family == AF_INET && udp.sin_port == htons(atoi(getenv("TEST_UDP_PORT"))));
	CHECK(send(here, "c", 1, 0) == 1);
	/* Ends when the parent does. */
	CHECK(read(parent, &byte, 1) == 0);
	CHECK(poll(&set, 1, 10000) == 1);
	CHECK((set.revents & (POLLERR | POLLHUP)) == (POLLERR | POLLHUP));
	FAILS(recv(here, &byte, 1, 0), ENETDOWN);
	FAILS(send(here, "x", 1, MSG_NOSIGNAL), ENETDOWN);
	FAILS(recv(there, &byte, 1, 0), ENETDOWN);
	FAILS(socket(family, SOCK_STREAM, IPPROTO_SCTP), ENETDOWN);
	int other = socket(AF_INET, SOCK_DGRAM, 0);
	name(&udp, "127.0.0.1", atoi(getenv("TEST_UDP_PORT")));
	/* The kernel closes the files of a process that ends one by one, in an order of its own. */
	int tries = 0;
	while (bind(other, (struct sockaddr *)&udp, sizeof udp) != 0) {
		CHECK(errno == EADDRINUSE && tries++ < 1000);
		usleep(10000);
	}
	puts("every call has ended");
	exit(0);
}

int main(int argc, char **argv)
{
	int alive[2], there;
	char byte;

	start(argc, argv);
	/* Not the engine's, although it has its UDP port. */
	struct sockaddr_in udp;
	int own = socket(AF_INET, SOCK_DGRAM, 0);
	name(&udp, "127.0.0.2", atoi(getenv("TEST_UDP_PORT")));
	CHECK(bind(own, (struct sockaddr *)&udp, sizeof udp) == 0);
	int server = listener(SOCK_STREAM, PORT);
	int here = pair(server, PORT, &there);
	CHECK(pipe(alive) == 0);
	if (fork() == 0) {
		alarm(30);
		close(alive[1]);
		outlive(here, there, alive[0], own);
	}
	CHECK(recv(there, &byte, 1, 0) == 1 && byte == 'c');
	_exit(0);
}
