/* A daemon that begins as root, opens its sockets, and then goes into an empty root directory and
 * becomes nobody: its sockets go on, and it can make others. */
#include "test.h"
#include <sys/wait.h>

enum { PORT = 5081, OTHER = 5082, NOBODY = 65534 };

/* A message from one end to the other one. */
static void carries(int from, int to)
{
	char byte = 0;
	CHECK(send(from, "x", 1, 0) == 1);
	CHECK(recv(to, &byte, 1, 0) == 1 && byte == 'x');
}

/* Everything that asks the engine. */
static void all_works(int server, int here, int there)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	int far, near;

	carries(here, there);
	CHECK(getsockname(server, (struct sockaddr *)&at, &len) == 0 && port_of(&at) == PORT);
	CHECK(on(here, SCTP_NODELAY, 1) == 0);
	near = pair(server, PORT, &far);
	carries(near, far);
	/* What is copied is a socket, too. */
	int copy = dup(near);
	CHECK(copy >= 0 && close(near) == 0);
	carries(far, copy);
	CHECK(on(copy, SCTP_NODELAY, 1) == 0);
	CHECK(close(copy) == 0);
	CHECK(recv(far, &len, 1, 0) == 0);
	CHECK(close(far) == 0);
}

int main(int argc, char **argv)
{
	char empty[] = "/tmp/tresse-empty-XXXXXX";
	int there, status;

	start(argc, argv);
	int server = listener(SOCK_STREAM, PORT);
	int here = pair(server, PORT, &there);
	CHECK(mkdtemp(empty));
	int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(root >= 0 && chroot(empty) == 0 && chdir("/") == 0);
	all_works(server, here, there);
	pid_t child = fork();
	if (child == 0) {
		CHECK(setuid(NOBODY) == 0 && setuid(0) == -1);
		all_works(server, here, there);
		int many = listener(SOCK_SEQPACKET, OTHER);
		struct sockaddr_storage to;
		socklen_t len = name(&to, loopback, OTHER);
		int peer = socket(family, SOCK_SEQPACKET, IPPROTO_SCTP);
		CHECK(peer >= 0);
		CHECK(sctp_sendmsg(peer, "y", 1, (struct sockaddr *)&to, len, 0, 0, 0, 0, 0) == 1);
		char byte = 0;
		CHECK(recv(many, &byte, 1, 0) == 1 && byte == 'y');
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(fchdir(root) == 0 && chroot(".") == 0 && rmdir(empty) == 0);
	puts("nothing was refused");
	return 0;
}
