/* Messages there and back, in both styles, through every function that sends and receives. */
#include "test.h"

enum { ONE = 5001, MANY = 5002 };

/* Sends through one function and returns what the other end got through another one. */
//= RFC 6458 9.8-2
static void one_to_one(void)
{
	int server = listener(SOCK_STREAM, ONE), there;
	int here = pair(server, ONE, &there);
	char buffer[100000];
	struct sockaddr_storage from;
	socklen_t len;
	int flags;

	CHECK(write(here, "write", 5) == 5);
	CHECK(read(there, buffer, sizeof buffer) == 5 && memcmp(buffer, "write", 5) == 0);
	CHECK(send(there, "send", 4, 0) == 4);
	CHECK(recv(here, buffer, sizeof buffer, 0) == 4 && memcmp(buffer, "send", 4) == 0);

	/* A message in three parts, read in two. */
	struct iovec out[3] = { { "ab", 2 }, { "cde", 3 }, { "f", 1 } };
	CHECK(writev(here, out, 3) == 6);
	struct iovec in[2] = { { buffer, 1 }, { buffer + 50, 20 } };
	CHECK(readv(there, in, 2) == 6 && buffer[0] == 'a' && memcmp(buffer + 50, "bcdef", 5) == 0);

	/* A small buffer leaves the rest, and says where the message ends. */
	CHECK(send(here, "0123456789", 10, 0) == 10);
	flags = 0;
	CHECK(sctp_recvmsg(there, buffer, 4, NULL, NULL, NULL, &flags) == 4 && !(flags & MSG_EOR));
	CHECK(sctp_recvmsg(there, buffer, 100, NULL, NULL, NULL, &flags) == 6 && flags & MSG_EOR);
	CHECK(memcmp(buffer, "456789", 6) == 0);

	/* RFC 6458 section 9.7, 9.8. */
	struct sctp_event_subscribe events;
	memset(&events, 0, sizeof events);
	events.sctp_data_io_event = 1;
	CHECK(setsockopt(there, IPPROTO_SCTP, SCTP_EVENTS, &events, sizeof events) == 0);
	CHECK(sctp_sendmsg(here, "old", 3, NULL, 0, htonl(77), SCTP_UNORDERED, 3, 0, 5) == 3);
	struct sctp_sndrcvinfo info;
	len = sizeof from;
	flags = 0;
	CHECK(sctp_recvmsg(there, buffer, sizeof buffer, (struct sockaddr *)&from, &len, &info,
			   &flags) == 3);
	CHECK(info.sinfo_stream == 3 && ntohl(info.sinfo_ppid) == 77);
	CHECK(info.sinfo_flags & SCTP_UNORDERED && flags & MSG_EOR);
	CHECK(from.ss_family == family);

	/* Section 9.10. */
	struct sctp_sndrcvinfo how;
	memset(&how, 0, sizeof how);
	how.sinfo_stream = 2;
	CHECK(sctp_send(here, "sent", 4, &how, 0) == 4);
	flags = 0;
	CHECK(sctp_recvmsg(there, buffer, sizeof buffer, NULL, NULL, &info, &flags) == 4);
	CHECK(info.sinfo_stream == 2);

	/* A long one. */
	for (size_t n = 0; n < sizeof buffer; n++)
		buffer[n] = n * 7;
	CHECK(send(here, buffer, sizeof buffer, 0) == sizeof buffer);
	static char copy[sizeof buffer];
	CHECK(recv(there, copy, sizeof copy, MSG_WAITALL) == sizeof copy);
	CHECK(memcmp(buffer, copy, sizeof copy) == 0);

	/* The end comes after what was sent before it. */
	CHECK(send(here, "last", 4, 0) == 4);
	CHECK(close(here) == 0);
	CHECK(read(there, buffer, sizeof buffer) == 4);
	CHECK(read(there, buffer, sizeof buffer) == 0);
	close(there);
	close(server);
}

/* Section 9.12, 9.13. */
static void vectors(void)
{
	int server = listener(SOCK_STREAM, ONE), there;
	int here = pair(server, ONE, &there);
	char buffer[100];
	struct iovec iov[2] = { { "one ", 4 }, { "message", 7 } };
	struct sctp_sendv_spa spa;
	struct sockaddr_storage from;
	union {
		struct sctp_rcvinfo rcv;
		struct sctp_recvv_rn rn;
		struct sctp_nxtinfo nxt;
	} info;
	socklen_t len, infolen;
	unsigned int infotype;
	int flags;

	CHECK(sctp_sendv(here, iov, 2, NULL, 0, NULL, 0, SCTP_SENDV_NOINFO, 0) == 11);
	memset(&spa, 0, sizeof spa);
	spa.sendv_flags = SCTP_SEND_SNDINFO_VALID;
	spa.sendv_sndinfo.snd_sid = 4;
	spa.sendv_sndinfo.snd_ppid = htonl(9);
	CHECK(sctp_sendv(here, iov, 2, NULL, 0, &spa, sizeof spa, SCTP_SENDV_SPA, 0) == 11);
	CHECK(sctp_sendv(here, iov, 1, NULL, 0, &spa.sendv_sndinfo, sizeof spa.sendv_sndinfo,
			 SCTP_SENDV_SNDINFO, 0) == 4);

	struct iovec in = { buffer, sizeof buffer };
	len = sizeof from;
	infolen = sizeof info;
	flags = 0;
	CHECK(sctp_recvv(there, &in, 1, (struct sockaddr *)&from, &len, &info, &infolen, &infotype,
			 &flags) == 11);
	CHECK(infotype == SCTP_RECVV_NOINFO && flags & MSG_EOR);
	CHECK(memcmp(buffer, "one message", 11) == 0);

	CHECK(on(there, SCTP_RECVRCVINFO, 1) == 0);
	CHECK(on(there, SCTP_RECVNXTINFO, 1) == 0);
	/* Until the next one has come already when the first one is read. */
	for (;;) {
		infolen = sizeof info;
		flags = 0;
		CHECK(sctp_recvv(there, &in, 1, NULL, NULL, &info, &infolen, &infotype, &flags) == 11);
		CHECK(info.rcv.rcv_sid == 4 && ntohl(info.rcv.rcv_ppid) == 9);
		if (infotype == SCTP_RECVV_RN)
			break;
		CHECK(infotype == SCTP_RECVV_RCVINFO);
		CHECK(sctp_recvv(there, &in, 1, NULL, NULL, NULL, NULL, &infotype, &flags) == 4);
		CHECK(sctp_sendv(here, iov, 2, NULL, 0, &spa, sizeof spa, SCTP_SENDV_SPA, 0) == 11);
		CHECK(sctp_sendv(here, iov, 1, NULL, 0, &spa.sendv_sndinfo,
				 sizeof spa.sendv_sndinfo, SCTP_SENDV_SNDINFO, 0) == 4);
	}
	CHECK(infolen == sizeof info.rn);
	CHECK(info.rn.recvv_nxtinfo.nxt_length == 4 && info.rn.recvv_nxtinfo.nxt_sid == 4);
	infolen = sizeof info;
	flags = 0;
	CHECK(sctp_recvv(there, &in, 1, NULL, NULL, &info, &infolen, &infotype, &flags) == 4);
	CHECK(infotype == SCTP_RECVV_RCVINFO && infolen == sizeof info.rcv);
	close(here);
	close(there);
	close(server);
}

static void one_to_many(void)
{
	struct sockaddr_storage to, from;
	socklen_t to_len = name(&to, loopback, MANY), len;
	int server = listener(SOCK_SEQPACKET, MANY);
	int client = socket(family, SOCK_SEQPACKET, IPPROTO_SCTP);
	struct sctp_sndrcvinfo info;
	char buffer[100];
	int flags;

	CHECK(client >= 0);
	struct sctp_event_subscribe events;
	memset(&events, 0, sizeof events);
	events.sctp_data_io_event = 1;
	CHECK(setsockopt(server, IPPROTO_SCTP, SCTP_EVENTS, &events, sizeof events) == 0);
	/* The first message opens the association. */
	CHECK(sctp_sendmsg(client, "hello", 5, (struct sockaddr *)&to, to_len, 0, 0, 1, 0, 0) == 5);
	len = sizeof from;
	flags = 0;
	CHECK(sctp_recvmsg(server, buffer, sizeof buffer, (struct sockaddr *)&from, &len, &info,
			   &flags) == 5);
	CHECK(info.sinfo_assoc_id != 0 && info.sinfo_stream == 1);
	/* Back by address, and by association. */
	CHECK(sendto(server, "addr", 4, 0, (struct sockaddr *)&from, len) == 4);
	CHECK(recv(client, buffer, sizeof buffer, 0) == 4);
	struct sctp_sndinfo how;
	memset(&how, 0, sizeof how);
	how.snd_assoc_id = info.sinfo_assoc_id;
	struct iovec iov = { "assoc", 5 };
	CHECK(sctp_sendv(server, &iov, 1, NULL, 0, &how, sizeof how, SCTP_SENDV_SNDINFO, 0) == 5);
	len = sizeof from;
	CHECK(recvfrom(client, buffer, sizeof buffer, 0, (struct sockaddr *)&from, &len) == 5);
	CHECK(port_of(&from) == MANY);
	/* Another association by sctp_sendv, which tells its number. */
	int other = socket(family, SOCK_SEQPACKET, IPPROTO_SCTP);
	memset(&how, 0, sizeof how);
	CHECK(sctp_sendv(other, &iov, 1, (struct sockaddr *)&to, 1, &how, sizeof how,
			 SCTP_SENDV_SNDINFO, 0) == 5);
	flags = 0;
	CHECK(sctp_recvmsg(server, buffer, sizeof buffer, NULL, NULL, &info, &flags) == 5);
	uint32_t count;
	len = sizeof count;
	CHECK(getsockopt(server, IPPROTO_SCTP, SCTP_GET_ASSOC_NUMBER, &count, &len) == 0);
	CHECK(count == 2);
	close(client);
	close(other);
	close(server);
}

int main(int argc, char **argv)
{
	start(argc, argv);
	one_to_one();
	vectors();
	one_to_many();
	return 0;
}
