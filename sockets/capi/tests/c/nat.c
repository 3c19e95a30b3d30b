/* A server, and clients that share address and SCTP port with others, as behind one NAT. */
#include "test.h"

enum { PORT = 5081, THEIRS = 7081, TIMES = 200 };

/* Sends back what comes, to the address that it comes from. */
static void serve(void)
{
	int fd = listener(SOCK_SEQPACKET, PORT), ended = 0;
	char text[20];

	CHECK(event(fd, SCTP_ASSOC_CHANGE, 1) == 0);
	puts("ready");
	fflush(stdout);
	while (ended < 2) {
		struct sockaddr_storage from;
		struct iovec iov = { text, sizeof text };
		struct msghdr message = { .msg_name = &from, .msg_namelen = sizeof from,
					  .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n = recvmsg(fd, &message, 0);
		CHECK(n > 0);
		if (message.msg_flags & MSG_NOTIFICATION) {
			struct sctp_assoc_change *change = (void *)text;
			ended += change->sac_state == SCTP_SHUTDOWN_COMP;
			continue;
		}
		CHECK(port_of(&from) == THEIRS);
		CHECK(sendto(fd, text, n, 0, (struct sockaddr *)&from, message.msg_namelen) == n);
	}
}

/* Gets its own answers, and nobody else's. */
static void ask(const char *who)
{
	struct sockaddr_storage own, to;
	socklen_t own_len = name(&own, loopback, THEIRS), len = name(&to, loopback, PORT);
	int fd = socket(family, SOCK_SEQPACKET, IPPROTO_SCTP);
	char sent[20], text[20];

	CHECK(bind(fd, (struct sockaddr *)&own, own_len) == 0);
	for (int n = 0; n < TIMES; n++) {
		int size = snprintf(sent, sizeof sent, "%s %d", who, n);
		CHECK(sendto(fd, sent, size, 0, (struct sockaddr *)&to, len) == size);
		CHECK(recv(fd, text, sizeof text, 0) == size && memcmp(text, sent, size) == 0);
		/* So that both are there at the same time. */
		usleep(2000);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	alarm(60);
	if (argc > 1)
		ask(argv[1]);
	else
		serve();
	return 0;
}
