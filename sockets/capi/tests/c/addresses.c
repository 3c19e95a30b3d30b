/* Several addresses, and associations that are peeled off. Needs 127.0.0.1 and 127.0.0.2. */
#include "test.h"
#include <sys/resource.h>

enum { PORT = 5021 };

//= RFC 6458 9.3-1 9.5-1
static int count(int fd, int peer, sctp_assoc_t id, const char *expected)
{
	struct sockaddr *list = NULL;
	int n = peer ? sctp_getpaddrs(fd, id, &list) : sctp_getladdrs(fd, id, &list);
	int found = 0;

	CHECK(n >= 0);
	const char *at = (const char *)list;
	for (int i = 0; i < n; i++) {
		char text[64];
		const struct sockaddr_in *four = (const void *)at;
		CHECK(four->sin_family == AF_INET);
		CHECK(inet_ntop(AF_INET, &four->sin_addr, text, sizeof text));
		found |= strcmp(text, expected) == 0;
		at += sctp_getaddrlen(four->sin_family);
	}
	if (n > 0)
		CHECK((peer ? sctp_freepaddrs(list) : sctp_freeladdrs(list)) == 0);
	CHECK(n == 0 || found);
	return n;
}

static struct sockaddr_in two[2];

static void fill(int port)
{
	name(&two[0], "127.0.0.1", port);
	name(&two[1], "127.0.0.2", port);
}

/* An association that gets no descriptor stays where it is, and is peeled off once there are some. */
static int peel_off_with_few_descriptors(int fd, sctp_assoc_t id)
{
	struct rlimit few, before;
	int lowest = dup(fd), peeled = -1;
	CHECK(lowest >= 0 && close(lowest) == 0);
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	few = before;
	/* Without any the engine cannot even be asked; in this process it takes some itself. */
	for (int more = 0; more < 40 && peeled < 0; more++) {
		few.rlim_cur = lowest + more;
		CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
		peeled = sctp_peeloff(fd, id);
		CHECK(more > 0 || peeled == -1);
		CHECK(peeled >= 0 || errno == EMFILE);
	}
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
	CHECK(peeled >= 0);
	return peeled;
}

int main(int argc, char **argv)
{
	start(argc, argv);
	CHECK(sctp_getaddrlen(AF_INET) == 16 && sctp_getaddrlen(AF_INET6) == 28);
	int server = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
	int client = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
	CHECK(server >= 0 && client >= 0);
#ifndef TEST_LKSCTP
	/* RFC 6458 section 9.3, 9.5: 0 if there is nothing. Linux has errors. */
	CHECK(count(server, 0, 0, "") == 0);
	int single = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
	CHECK(count(single, 1, 0, "") == 0);
	close(single);
#endif
	/* sctp_bindx */
	fill(PORT);
	FAILS(sctp_bindx(server, (struct sockaddr *)two, 2, 3), EINVAL);
	FAILS(sctp_bindx(server, (struct sockaddr *)two, 0, SCTP_BINDX_ADD_ADDR), EINVAL);
	two[1].sin_port = htons(PORT + 1);
	FAILS(sctp_bindx(server, (struct sockaddr *)two, 2, SCTP_BINDX_ADD_ADDR), EINVAL);
	fill(PORT);
	CHECK(sctp_bindx(server, (struct sockaddr *)two, 2, SCTP_BINDX_ADD_ADDR) == 0);
	CHECK(count(server, 0, 0, "127.0.0.2") == 2);
	CHECK(sctp_bindx(server, (struct sockaddr *)&two[1], 1, SCTP_BINDX_REM_ADDR) == 0);
	CHECK(count(server, 0, 0, "127.0.0.1") == 1);
	FAILS(sctp_bindx(server, (struct sockaddr *)two, 1, SCTP_BINDX_REM_ADDR), EBUSY);
	CHECK(sctp_bindx(server, (struct sockaddr *)&two[1], 1, SCTP_BINDX_ADD_ADDR) == 0);
	CHECK(listen(server, 5) == 0);
	CHECK(event(server, SCTP_ASSOC_CHANGE, 1) == 0);
	CHECK(event(client, SCTP_ASSOC_CHANGE, 1) == 0);

	/* sctp_connectx */
	sctp_assoc_t id = 0;
	CHECK(sctp_connectx(client, (struct sockaddr *)two, 2, &id) == 0);
	union sctp_notification *event = told(client, SCTP_ASSOC_CHANGE);
	CHECK(event->sn_assoc_change.sac_state == SCTP_COMM_UP);
	CHECK(event->sn_assoc_change.sac_assoc_id == id);
	CHECK(count(client, 1, id, "127.0.0.2") == 2);
	sctp_assoc_t theirs = told(server, SCTP_ASSOC_CHANGE)->sn_assoc_change.sac_assoc_id;
	CHECK(count(server, 1, theirs, "127.0.0.1") >= 1);
	/* Without ASCONF the association keeps it. */
	CHECK(sctp_bindx(server, (struct sockaddr *)two, 1, SCTP_BINDX_REM_ADDR) == 0);
	CHECK(sctp_bindx(server, (struct sockaddr *)two, 1, SCTP_BINDX_ADD_ADDR) == 0);
	FAILS(sctp_connectx(client, (struct sockaddr *)two, 2, &id), EISCONN);

	/* Both ends have their numbers for it. */
	struct sctp_status status;
	socklen_t size = sizeof status;
	CHECK(sctp_opt_info(server, theirs, SCTP_STATUS, &status, &size) == 0);
	CHECK(status.sstat_state == SCTP_ESTABLISHED && status.sstat_assoc_id == theirs);
	struct sctp_paddrinfo path;
	memset(&path, 0, sizeof path);
	memcpy(&path.spinfo_address, &two[1], sizeof two[1]);
	size = sizeof path;
	CHECK(sctp_opt_info(client, id, SCTP_GET_PEER_ADDR_INFO, &path, &size) == 0);
	CHECK(path.spinfo_mtu > 500);

	/* sctp_peeloff: what arrives from now on arrives there. */
	FAILS(sctp_peeloff(server, 999999), EINVAL);
	int peeled = peel_off_with_few_descriptors(server, theirs);
	struct sctp_sndinfo how;
	memset(&how, 0, sizeof how);
	how.snd_assoc_id = id;
	struct iovec iov = { "for you", 7 };
	CHECK(sctp_sendv(client, &iov, 1, NULL, 0, &how, sizeof how, SCTP_SENDV_SNDINFO, 0) == 7);
	char buffer[100];
	CHECK(read(peeled, buffer, sizeof buffer) == 7);
	CHECK(write(peeled, "thanks", 6) == 6);
	CHECK(read(client, buffer, sizeof buffer) == 6);
	uint32_t left;
	size = sizeof left;
	CHECK(getsockopt(server, IPPROTO_SCTP, SCTP_GET_ASSOC_NUMBER, &left, &size) == 0);
	CHECK(left == 0);
	/* The end of the socket that it came from is not its end. */
	close(server);
	CHECK(write(peeled, "still", 5) == 5);
	CHECK(read(client, buffer, sizeof buffer) == 5);
	close(peeled);
	event = told(client, SCTP_ASSOC_CHANGE);
	CHECK(event->sn_assoc_change.sac_state == SCTP_SHUTDOWN_COMP);
	close(client);
	return 0;
}
