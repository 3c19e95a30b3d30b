/* A one-to-one client: sends a message on each of five streams and prints what comes back.
 *
 *     cc -o client client.c $(pkg-config --cflags --libs tresse)
 *     ./client address [SCTP port] [UDP port]
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tresse/sctp.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

int main(int argc, char **argv)
{
	/* Any free UDP port here; the peer's is the registered one unless another one is named. */
	struct tresse_config config = { .size = sizeof config, .udp_port = -1 };
	struct sockaddr_in peer = { .sin_family = AF_INET };
	char text[100];
	int on = 1;

	if (argc < 2 || inet_pton(AF_INET, argv[1], &peer.sin_addr) != 1) {
		fprintf(stderr, "usage: client address [SCTP port] [UDP port]\n");
		return 2;
	}
	peer.sin_port = htons(argc > 2 ? atoi(argv[2]) : 5000);
	config.peer_udp_port = argc > 3 ? atoi(argv[3]) : 9899;
	if (tresse_start(&config) < 0) {
		fprintf(stderr, "error: %s\n", tresse_error());
		return 2;
	}
	int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
	if (fd < 0)
		fail("socket");
	if (setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on) < 0 ||
	    setsockopt(fd, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on) < 0)
		fail("setsockopt");
	if (connect(fd, (struct sockaddr *)&peer, sizeof peer) < 0)
		fail("connect");

	for (int stream = 0; stream < 5; stream++) {
		struct iovec iov = { text, snprintf(text, sizeof text, "message %d", stream) };
		struct sctp_sndinfo how = { .snd_sid = stream, .snd_ppid = htonl(7) };
		struct sctp_rcvinfo info;
		socklen_t size = sizeof info;
		unsigned int type;
		int flags = 0;

		if (sctp_sendv(fd, &iov, 1, NULL, 0, &how, sizeof how, SCTP_SENDV_SNDINFO, 0) < 0)
			fail("sctp_sendv");
		iov.iov_len = sizeof text;
		ssize_t len = sctp_recvv(fd, &iov, 1, NULL, NULL, &info, &size, &type, &flags);
		if (len <= 0)
			fail("sctp_recvv");
		printf("stream %d: %.*s\n", info.rcv_sid, (int)len, text);
	}
	/* The association is shut down after the last message; exit() waits for that. */
	close(fd);
	return 0;
}
