/* A one-to-many echo server: one socket serves all associations, and tells when they come and go.
 *
 *     cc -o echo_server echo_server.c $(pkg-config --cflags --libs tresse)
 *     ./echo_server [SCTP port] [UDP port]
 */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tresse/sctp.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void tell(const union sctp_notification *event)
{
	const struct sctp_assoc_change *change = &event->sn_assoc_change;

	if (event->sn_header.sn_type != SCTP_ASSOC_CHANGE)
		return;
	if (change->sac_state == SCTP_COMM_UP)
		printf("up: %u streams out, %u in\n", change->sac_outbound_streams,
		       change->sac_inbound_streams);
	else
		puts(change->sac_state == SCTP_SHUTDOWN_COMP ? "shut down" : "lost");
}

int main(int argc, char **argv)
{
	struct tresse_config config = { .size = sizeof config };
	struct sctp_event events = { .se_type = SCTP_ASSOC_CHANGE, .se_on = 1 };
	struct sockaddr_in local = { .sin_family = AF_INET };
	static char message[65536] __attribute__((aligned(8)));
	int on = 1;

	/* A peer that has gone before its answer is sent is no reason to die. */
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	local.sin_port = htons(argc > 1 ? atoi(argv[1]) : 5000);
	config.udp_port = argc > 2 ? atoi(argv[2]) : 9899;
	if (tresse_start(&config) < 0) {
		fprintf(stderr, "error: %s\n", tresse_error());
		return 2;
	}
	int fd = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
	if (fd < 0)
		fail("socket");
	if (setsockopt(fd, IPPROTO_SCTP, SCTP_EVENT, &events, sizeof events) < 0 ||
	    setsockopt(fd, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on) < 0)
		fail("setsockopt");
	if (bind(fd, (struct sockaddr *)&local, sizeof local) < 0 || listen(fd, 10) < 0)
		fail("bind");
	printf("SCTP port %d in UDP port %d\n", ntohs(local.sin_port), config.udp_port);

	for (;;) {
		struct iovec iov = { message, sizeof message };
		struct sctp_rcvinfo info;
		socklen_t size = sizeof info;
		unsigned int type;
		int flags = 0;

		ssize_t len = sctp_recvv(fd, &iov, 1, NULL, NULL, &info, &size, &type, &flags);
		if (len < 0)
			fail("sctp_recvv");
		if (flags & MSG_NOTIFICATION) {
			tell((union sctp_notification *)message);
			continue;
		}
		if (type != SCTP_RECVV_RCVINFO)
			continue;
		/* Back on the same stream of the same association. */
		struct sctp_sndinfo back = {
			.snd_sid = info.rcv_sid,
			.snd_ppid = info.rcv_ppid,
			.snd_assoc_id = info.rcv_assoc_id,
		};
		iov.iov_len = len;
		if (sctp_sendv(fd, &iov, 1, NULL, 0, &back, sizeof back, SCTP_SENDV_SNDINFO,
			       MSG_DONTWAIT) >= 0)
			continue;
		perror("sctp_sendv");
		/* Who reads none of its answers is let go: to wait for it would keep all others waiting. */
		if (errno == EAGAIN) {
			back.snd_flags = SCTP_ABORT;
			iov.iov_len = 0;
			sctp_sendv(fd, &iov, 1, NULL, 0, &back, sizeof back, SCTP_SENDV_SNDINFO, 0);
		}
	}
}
