/* Notifications (RFC 6458 section 6), and what brings them about. */
#include "test.h"

enum { PORT = 5011 };

static int one(int type)
{
	int fd = socket(family, type, IPPROTO_SCTP);
	CHECK(fd >= 0);
	return fd;
}

/* An association begins and ends; adaptation layers. */
static void lives(void)
{
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, PORT);
	int server = listener(SOCK_SEQPACKET, PORT), client = one(SOCK_SEQPACKET);
	struct sctp_setadaptation layer = { 0x01020304 };
	int all[] = { SCTP_ASSOC_CHANGE, SCTP_SHUTDOWN_EVENT, SCTP_ADAPTATION_INDICATION };

	for (int n = 0; n < 3; n++) {
		CHECK(event(server, all[n], 1) == 0);
		CHECK(event(client, all[n], 1) == 0);
	}
	CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, &layer, sizeof layer) == 0);
	CHECK(sendto(client, "x", 1, 0, (struct sockaddr *)&to, len) == 1);
	union sctp_notification *event = told(server, SCTP_ASSOC_CHANGE);
	CHECK(event->sn_assoc_change.sac_state == SCTP_COMM_UP);
	sctp_assoc_t id = event->sn_assoc_change.sac_assoc_id;
	event = told(server, SCTP_ADAPTATION_INDICATION);
	CHECK(event->sn_adaptation_event.sai_adaptation_ind == 0x01020304);
	CHECK(event->sn_adaptation_event.sai_assoc_id == id);
	char byte;
	CHECK(recv(server, &byte, 1, 0) == 1);
	CHECK(told(client, SCTP_ASSOC_CHANGE)->sn_assoc_change.sac_outbound_streams > 0);

	/* SCTP_EOF. */
	struct sctp_sndrcvinfo end;
	memset(&end, 0, sizeof end);
	end.sinfo_flags = SCTP_EOF;
	end.sinfo_assoc_id = id;
	CHECK(sctp_send(server, NULL, 0, &end, 0) == 0);
	told(client, SCTP_SHUTDOWN_EVENT);
	event = told(client, SCTP_ASSOC_CHANGE);
	CHECK(event->sn_assoc_change.sac_state == SCTP_SHUTDOWN_COMP);
	event = told(server, SCTP_ASSOC_CHANGE);
	CHECK(event->sn_assoc_change.sac_state == SCTP_SHUTDOWN_COMP);

	/* SCTP_ABORT. */
	CHECK(sendto(client, "x", 1, 0, (struct sockaddr *)&to, len) == 1);
	CHECK(told(client, SCTP_ASSOC_CHANGE)->sn_assoc_change.sac_state == SCTP_COMM_UP);
	event = told(server, SCTP_ASSOC_CHANGE);
	memset(&end, 0, sizeof end);
	end.sinfo_flags = SCTP_ABORT;
	end.sinfo_assoc_id = event->sn_assoc_change.sac_assoc_id;
	CHECK(sctp_send(server, NULL, 0, &end, 0) == 0);
	event = told(client, SCTP_ASSOC_CHANGE);
	CHECK(event->sn_assoc_change.sac_state == SCTP_COMM_LOST);
	close(client);
	close(server);
}

static void cannot_start(void)
{
	struct sockaddr_storage nowhere;
	socklen_t len = name(&nowhere, loopback, PORT + 1);
	int client = one(SOCK_SEQPACKET);

	CHECK(event(client, SCTP_ASSOC_CHANGE, 1) == 0);
	CHECK(sendto(client, "x", 1, 0, (struct sockaddr *)&nowhere, len) == 1);
	union sctp_notification *event = told(client, SCTP_ASSOC_CHANGE);
	CHECK(event->sn_assoc_change.sac_state == SCTP_CANT_STR_ASSOC);
	close(client);
}

/* An association on which nothing is sent is shut down (section 8.1.8). */
static void idle(void)
{
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, PORT);
	int server = listener(SOCK_SEQPACKET, PORT), client = one(SOCK_SEQPACKET);
	int seconds;

	CHECK(event(server, SCTP_ASSOC_CHANGE, 1) == 0);
	CHECK(on(server, SCTP_AUTOCLOSE, 1) == 0);
	socklen_t size = sizeof seconds;
	CHECK(getsockopt(server, IPPROTO_SCTP, SCTP_AUTOCLOSE, &seconds, &size) == 0);
	CHECK(seconds == 1);
	CHECK(sendto(client, "x", 1, 0, (struct sockaddr *)&to, len) == 1);
	CHECK(told(server, SCTP_ASSOC_CHANGE)->sn_assoc_change.sac_state == SCTP_COMM_UP);
	char byte;
	CHECK(recv(server, &byte, 1, 0) == 1);
	union sctp_notification *event = told(server, SCTP_ASSOC_CHANGE);
	CHECK(event->sn_assoc_change.sac_state == SCTP_SHUTDOWN_COMP);
	close(client);
	close(server);
	/* One-to-one sockets have none. */
	int single = one(SOCK_STREAM);
	FAILS(on(single, SCTP_AUTOCLOSE, 1), EOPNOTSUPP);
	close(single);
}

static void dry(void)
{
	int server = listener(SOCK_STREAM, PORT), there;
	int here = pair(server, PORT, &there);

	/* At once, as nothing is under way (section 6.1.9). */
	CHECK(event(here, SCTP_SENDER_DRY_EVENT, 1) == 0);
	told(here, SCTP_SENDER_DRY_EVENT);
	CHECK(send(here, "x", 1, 0) == 1);
	told(here, SCTP_SENDER_DRY_EVENT);
	CHECK(event(here, SCTP_SENDER_DRY_EVENT, 0) == 0);
	close(here);
	close(there);
	close(server);
}

/* A lifetime (RFC 3758 section 4.1): what was not sent until it ends comes back, with its context and
 * as unsent, and so does, as sent, what would have to be sent again; all else arrives. */
static void too_late(void)
{
	enum { SIZE = 1000 };
	static char message[SIZE], notification[65536];
	int length;
	int server = listener(SOCK_STREAM, PORT), there, small = 20000;
	CHECK(setsockopt(server, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
	int here = pair(server, PORT, &there);
	CHECK(event(here, SCTP_SEND_FAILED_EVENT, 1) == 0);

	/* Nobody reads, so most of them wait. */
	CHECK(fcntl(here, F_SETFL, O_NONBLOCK) == 0);
	int sent = 0;
	struct pollfd writable = { .fd = here, .events = POLLOUT };
	while (poll(&writable, 1, 200) == 1) {
		length = sctp_sendmsg(here, message, SIZE, NULL, 0, htonl(7), 0, 2, 1000, 1000 + sent);
		CHECK(length == SIZE || errno == EAGAIN);
		sent += length == SIZE;
	}
	int failed = 0, last = 0, begun = 0;
	struct pollfd readable = { .fd = here, .events = POLLIN };
	while (poll(&readable, 1, 2000) == 1) {
		struct iovec iov = { notification, sizeof notification };
		struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
		CHECK((length = recvmsg(here, &header, 0)) > 0);
		CHECK(header.msg_flags & MSG_NOTIFICATION);
		struct sctp_send_failed_event *failure = (void *)notification;
		CHECK(failure->ssf_type == SCTP_SEND_FAILED_EVENT);
		/* The closed window had no room for these. */
		if (failure->ssf_flags == SCTP_DATA_SENT) {
			begun++;
			continue;
		}
		CHECK(failure->ssf_flags == SCTP_DATA_UNSENT);
		CHECK(failure->ssfe_info.snd_sid == 2 && failure->ssfe_info.snd_ppid == htonl(7));
		CHECK(length == (int)sizeof *failure + SIZE);
		CHECK((int)failure->ssfe_info.snd_context > last);
		last = failure->ssfe_info.snd_context;
		failed++;
	}
	CHECK(failed > 0 && last == 1000 + sent - 1);

	/* The window opens, and what was sent in time is all there. */
	close(here);
	int got = 0;
	while ((length = recv(there, message, SIZE, 0)) > 0) {
		CHECK(length == SIZE);
		got++;
	}
	CHECK(length == 0);
	CHECK(begun < failed);
	CHECK(got + failed + begun >= sent && got + failed <= sent);
	close(there);
	close(server);
}

/* Policies of partial reliability (RFC 6458 section 5.3.7, RFC 7496). */
static void policies(void)
{
	int server = listener(SOCK_STREAM, PORT), there;
	int here = pair(server, PORT, &there);
	struct iovec iov = { "x", 1 };
	struct sctp_prinfo how = { .pr_policy = SCTP_PR_SCTP_NONE };

	CHECK(sctp_sendv(here, &iov, 1, NULL, 0, &how, sizeof how, SCTP_SENDV_PRINFO, 0) == 1);
	how.pr_policy = SCTP_PR_SCTP_TTL;
	how.pr_value = 5000;
	CHECK(sctp_sendv(here, &iov, 1, NULL, 0, &how, sizeof how, SCTP_SENDV_PRINFO, 0) == 1);
	how.pr_policy = SCTP_PR_SCTP_RTX;
	CHECK(sctp_sendv(here, &iov, 1, NULL, 0, &how, sizeof how, SCTP_SENDV_PRINFO, 0) == 1);
	how.pr_policy = SCTP_PR_SCTP_PRIO;
	CHECK(sctp_sendv(here, &iov, 1, NULL, 0, &how, sizeof how, SCTP_SENDV_PRINFO, 0) == 1);
	how.pr_policy = 0x77;
	FAILS(sctp_sendv(here, &iov, 1, NULL, 0, &how, sizeof how, SCTP_SENDV_PRINFO, 0), EINVAL);
	close(here);
	close(there);
	close(server);
}

/* What is asked for can be read back. */
static void asked(void)
{
	int fd = one(SOCK_SEQPACKET);
	struct sctp_event_subscribe events;
	socklen_t len = sizeof events;

	CHECK(event(fd, SCTP_PARTIAL_DELIVERY_EVENT, 1) == 0);
	CHECK(event(fd, SCTP_PARTIAL_DELIVERY_EVENT, 0) == 0);
	FAILS(event(fd, 0x9000, 1), EINVAL);
	memset(&events, 1, sizeof events);
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, &events, sizeof events) == 0);
	CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, &events, &len) == 0);
	CHECK(events.sctp_association_event == 1 && events.sctp_adaptation_layer_event == 1);
	CHECK(events.sctp_partial_delivery_event == 1 && events.sctp_authentication_event == 1);
	close(fd);
}

int main(int argc, char **argv)
{
	start(argc, argv);
	lives();
	cannot_start();
	idle();
	dry();
	too_late();
	policies();
	asked();
	return 0;
}
