/* Addresses come and go in an association that is there (RFC 5061). Needs 127.0.0.1 and 127.0.0.2. */
#include "test.h"

#ifndef SCTP_ASCONF_SUPPORTED
#define SCTP_ASCONF_SUPPORTED 128
#endif
#ifndef SCTP_AUTH_SUPPORTED
#define SCTP_AUTH_SUPPORTED 129
#endif
#ifndef SCTP_AUTO_ASCONF
#define SCTP_AUTO_ASCONF 30
#endif

enum { PORT = 5027 };

static int value(int fd, int option, sctp_assoc_t id)
{
	struct sctp_assoc_value value = { .assoc_id = id };
	socklen_t size = sizeof value;
	CHECK(getsockopt(fd, IPPROTO_SCTP, option, &value, &size) == 0);
	return value.assoc_value;
}

/* A one-to-many socket that offers the extensions, bound to one address. */
static int mobile(const char *address, int port)
{
	struct sctp_assoc_value yes = { .assoc_value = 1 };
	struct sockaddr_storage at;
	int fd = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
	CHECK(fd >= 0);
	CHECK(value(fd, SCTP_ASCONF_SUPPORTED, 0) == 0);
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_ASCONF_SUPPORTED, &yes, sizeof yes) == 0);
	CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_SUPPORTED, &yes, sizeof yes) == 0);
	CHECK(value(fd, SCTP_ASCONF_SUPPORTED, 0) == 1);
	CHECK(event(fd, SCTP_ASSOC_CHANGE, 1) == 0);
	CHECK(event(fd, SCTP_PEER_ADDR_CHANGE, 1) == 0);
	socklen_t len = name(&at, address, port);
	CHECK(bind(fd, (struct sockaddr *)&at, len) == 0);
	return fd;
}

/* Waits until something is told of an address of the peer. */
static void hears(int fd, int state, const char *address)
{
	struct sockaddr_in expected;
	struct sctp_paddr_change *change;
	name(&expected, address, 0);
	do {
		change = &told(fd, SCTP_PEER_ADDR_CHANGE)->sn_paddr_change;
	} while (change->spc_state != state);
	struct sockaddr_in *at = (void *)&change->spc_aaddr;
	CHECK(at->sin_addr.s_addr == expected.sin_addr.s_addr);
}

static int count(int fd, int peer, sctp_assoc_t id)
{
	struct sockaddr *list = NULL;
	int n = peer ? sctp_getpaddrs(fd, id, &list) : sctp_getladdrs(fd, id, &list);
	CHECK(n > 0);
	CHECK((peer ? sctp_freepaddrs(list) : sctp_freeladdrs(list)) == 0);
	return n;
}

/* A message gets through, told or not what happens to addresses meanwhile. */
static void passes(int from, sctp_assoc_t id, int to)
{
	struct sctp_sndrcvinfo info;
	char byte = 'x', buffer[4096];
	int flags = 0;
	memset(&info, 0, sizeof info);
	info.sinfo_assoc_id = id;
	CHECK(sctp_send(from, &byte, 1, &info, 0) == 1);
	do {
		flags = 0;
		CHECK(sctp_recvmsg(to, buffer, sizeof buffer, NULL, NULL, NULL, &flags) > 0);
	} while (flags & MSG_NOTIFICATION);
	CHECK(buffer[0] == 'x');
}

static void refused_without(void)
{
	struct sctp_setpeerprim primary;
	memset(&primary, 0, sizeof primary);
	int fd = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
	CHECK(fd >= 0);
	FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_SET_PEER_PRIMARY_ADDR, &primary, sizeof primary),
	      EPERM);
	/* Only of a socket that is bound to all addresses. */
	struct sockaddr_storage at;
	socklen_t len = name(&at, "127.0.0.1", 0);
	CHECK(bind(fd, (struct sockaddr *)&at, len) == 0);
	FAILS(on(fd, SCTP_AUTO_ASCONF, 1), EINVAL);
	CHECK(on(fd, SCTP_AUTO_ASCONF, 0) == 0);
	CHECK(close(fd) == 0);
	fd = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
	len = name(&at, "0.0.0.0", 0);
	CHECK(bind(fd, (struct sockaddr *)&at, len) == 0);
	CHECK(on(fd, SCTP_AUTO_ASCONF, 1) == 0);
	int follows = 0;
	socklen_t size = sizeof follows;
	CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_AUTO_ASCONF, &follows, &size) == 0 && follows == 1);
	CHECK(close(fd) == 0);
}

//= RFC 6458 8.3.1-1
int main(int argc, char **argv)
{
	start(argc, argv);
	refused_without();
	int server = mobile("127.0.0.1", PORT), client = mobile("127.0.0.1", 0);
	struct sockaddr_in to, own, more;
	socklen_t len = sizeof own;
	CHECK(listen(server, 5) == 0);
	CHECK(getsockname(client, (struct sockaddr *)&own, &len) == 0);
	name(&to, "127.0.0.1", PORT);
	sctp_assoc_t id = 0;
	CHECK(sctp_connectx(client, (struct sockaddr *)&to, 1, &id) == 0);
	CHECK(told(client, SCTP_ASSOC_CHANGE)->sn_assoc_change.sac_state == SCTP_COMM_UP);
	sctp_assoc_t theirs = told(server, SCTP_ASSOC_CHANGE)->sn_assoc_change.sac_assoc_id;
	CHECK(value(client, SCTP_ASCONF_SUPPORTED, id) == 1);
	CHECK(value(server, SCTP_ASCONF_SUPPORTED, theirs) == 1);
	CHECK(count(server, 1, theirs) == 1);

	/* One more. */
	name(&more, "127.0.0.2", ntohs(own.sin_port));
	CHECK(sctp_bindx(client, (struct sockaddr *)&more, 1, SCTP_BINDX_ADD_ADDR) == 0);
	hears(server, SCTP_ADDR_ADDED, "127.0.0.2");
	hears(server, SCTP_ADDR_CONFIRMED, "127.0.0.2");
	CHECK(count(server, 1, theirs) == 2);
	while (count(client, 0, id) != 2)
		usleep(10000);

	/* It is the one that the server sends to. */
	struct sctp_setpeerprim primary;
	memset(&primary, 0, sizeof primary);
	primary.sspp_assoc_id = id;
	name(&primary.sspp_addr, "127.0.0.9", PORT);
	FAILS(setsockopt(client, IPPROTO_SCTP, SCTP_SET_PEER_PRIMARY_ADDR, &primary, sizeof primary),
	      EADDRNOTAVAIL);
	primary.sspp_assoc_id = id + 1000;
	FAILS(setsockopt(client, IPPROTO_SCTP, SCTP_SET_PEER_PRIMARY_ADDR, &primary, sizeof primary),
	      EINVAL);
	FAILS(setsockopt(client, IPPROTO_SCTP, SCTP_SET_PEER_PRIMARY_ADDR, &primary, 8), EINVAL);
	primary.sspp_assoc_id = id;
	memcpy(&primary.sspp_addr, &more, sizeof more);
	CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_SET_PEER_PRIMARY_ADDR, &primary,
			 sizeof primary) == 0);
	hears(server, SCTP_ADDR_MADE_PRIM, "127.0.0.2");

	/* The first one goes. */
	CHECK(sctp_bindx(client, (struct sockaddr *)&own, 1, SCTP_BINDX_REM_ADDR) == 0);
	hears(server, SCTP_ADDR_REMOVED, "127.0.0.1");
	CHECK(count(server, 1, theirs) == 1);
	FAILS(sctp_bindx(client, (struct sockaddr *)&more, 1, SCTP_BINDX_REM_ADDR), EBUSY);
	passes(client, id, server);
	passes(server, theirs, client);
	while (count(client, 0, id) != 1)
		usleep(10000);
	CHECK(close(client) == 0);
	CHECK(close(server) == 0);
	return 0;
}
