/* What goes wrong has the right error number: descriptors, addresses, pointers. */
#include "test.h"
#include <sys/mman.h>
#include <sys/resource.h>

enum { PORT = 5051 };

static void *unmapped;

static void calls(void)
{
	struct sockaddr_storage to, other;
	socklen_t len = name(&to, loopback, PORT);
	int plain[2];
	char byte;
	struct iovec iov = { &byte, 1 };

	/* No descriptor, and none of SCTP. */
	FAILS(bind(999, (struct sockaddr *)&to, len), EBADF);
	FAILS(sctp_peeloff(999, 1), EBADF);
	FAILS(sctp_sendv(-1, &iov, 1, NULL, 0, NULL, 0, SCTP_SENDV_NOINFO, 0), EBADF);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, plain) == 0);
	CHECK(write(plain[0], "p", 1) == 1 && read(plain[1], &byte, 1) == 1 && byte == 'p');
#ifndef TEST_LKSCTP
	struct sctp_status status;
	socklen_t size = sizeof status;
	FAILS(sctp_bindx(plain[0], (struct sockaddr *)&to, 1, SCTP_BINDX_ADD_ADDR), ENOTSOCK);
	FAILS(sctp_opt_info(plain[0], 0, SCTP_STATUS, &status, &size), ENOTSOCK);
#endif
	close(plain[0]);
	close(plain[1]);

	int server = listener(SOCK_STREAM, PORT), there;
	int fd = socket(family, SOCK_STREAM, IPPROTO_SCTP);
	FAILS(bind(fd, (struct sockaddr *)&to, len), EADDRINUSE);
	/* TEST-NET-1, documentation: no address of this host. */
	socklen_t other_len = name(&other, family == AF_INET ? "192.0.2.1" : "2001:db8::1", PORT);
	FAILS(bind(fd, (struct sockaddr *)&other, other_len), EADDRNOTAVAIL);
	FAILS(bind(fd, (struct sockaddr *)&to, 3), EINVAL);
	if (family == AF_INET) {
		struct sockaddr_in6 six;
		socklen_t six_len = name(&six, "::1", PORT + 1);
		FAILS(connect(fd, (struct sockaddr *)&six, six_len), EINVAL);
	}
	FAILS(accept(fd, NULL, NULL), EINVAL);
	FAILS(recv(fd, &byte, 1, 0), ENOTCONN);
	FAILS(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	FAILS(shutdown(fd, SHUT_WR), ENOTCONN);
	FAILS(getpeername(fd, (struct sockaddr *)&other, &other_len), ENOTCONN);
	FAILS(socket(AF_INET, SOCK_DGRAM, IPPROTO_SCTP), EPROTONOSUPPORT);
	close(fd);
	fd = pair(server, PORT, &there);
	FAILS(connect(fd, (struct sockaddr *)&to, len), EISCONN);
	FAILS(send(fd, "x", 0, 0), EINVAL);
	struct sctp_sndrcvinfo how;
	memset(&how, 0, sizeof how);
	how.sinfo_stream = 5000;
	FAILS(sctp_send(fd, "x", 1, &how, 0), EINVAL);
	FAILS(sctp_sendv(fd, &iov, 1, NULL, 0, &how, 3, SCTP_SENDV_SNDINFO, 0), EINVAL);
#ifndef TEST_LKSCTP
	FAILS(sctp_sendv(fd, &iov, 1, NULL, 0, NULL, 0, 77, 0), EINVAL);
#endif
	close(fd);
	close(there);
	close(server);
}

/* Neither NULL nor memory that is not there ends the program. */
static void pointers(void)
{
	int server = listener(SOCK_STREAM, PORT), there;
	int fd = pair(server, PORT, &there);
	void *bad[] = { NULL, unmapped, (void *)8, (void *)-4096L };
	char byte, control[CMSG_SPACE(sizeof(struct sctp_sndinfo))];
	struct sockaddr_storage to;
	socklen_t len;

	for (int n = 0; n < 4; n++) {
		void *at = bad[n];
		struct iovec iov = { at, 10 }, good = { &byte, 1 };
		struct msghdr message;

		FAILS(send(fd, at, 10, 0), EFAULT);
		FAILS(writev(fd, at, 1), EFAULT);
		FAILS(writev(fd, &iov, 1), EFAULT);
		FAILS(sendmsg(fd, at, 0), EFAULT);
		memset(&message, 0, sizeof message);
		message.msg_iov = at;
		message.msg_iovlen = 1;
		FAILS(sendmsg(fd, &message, 0), EFAULT);
		message.msg_iov = &iov;
		FAILS(sendmsg(fd, &message, 0), EFAULT);
		if (at) {
			message.msg_iov = &good;
			message.msg_control = at;
			message.msg_controllen = sizeof control;
			FAILS(sendmsg(fd, &message, 0), EFAULT);
			message.msg_control = NULL;
			message.msg_controllen = 0;
			message.msg_name = at;
			message.msg_namelen = sizeof(struct sockaddr_in);
			FAILS(sendmsg(fd, &message, 0), EFAULT);
			FAILS(sendto(fd, "x", 1, 0, at, sizeof(struct sockaddr_in)), EFAULT);
		}
		FAILS(bind(fd, at, sizeof(struct sockaddr_in)), EFAULT);
		FAILS(connect(fd, at, sizeof(struct sockaddr_in)), EFAULT);
		FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, at, 4), EFAULT);
		len = 4;
		FAILS(getsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, at, &len), EFAULT);
		FAILS(getsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &byte, at), EFAULT);
		FAILS(getsockname(fd, at, &len), EFAULT);
		FAILS(getsockname(fd, (struct sockaddr *)&to, at), EFAULT);
		CHECK(send(there, "x", 1, 0) == 1);
		struct pollfd set = { .fd = fd, .events = POLLIN };
		CHECK(poll(&set, 1, 10000) == 1);
		FAILS(recv(fd, at, 10, 0), EFAULT);
		FAILS(readv(fd, at, 1), EFAULT);
		FAILS(recvmsg(fd, at, 0), EFAULT);
#ifndef TEST_LKSCTP
		FAILS(sctp_bindx(fd, at, 1, SCTP_BINDX_ADD_ADDR), EFAULT);
		FAILS(sctp_connectx(fd, at, 1, NULL), EFAULT);
		FAILS(sctp_getladdrs(fd, 0, at), EFAULT);
		FAILS(sctp_sendv(fd, at, 1, NULL, 0, NULL, 0, SCTP_SENDV_NOINFO, 0), EFAULT);
		FAILS(sctp_sendv(fd, &good, 1, NULL, 0, at, sizeof(struct sctp_sndinfo),
				 SCTP_SENDV_SNDINFO, 0), EFAULT);
		FAILS(sctp_recvv(fd, at, 1, NULL, NULL, NULL, NULL, NULL, NULL), EFAULT);
#endif
		/* Nothing is lost by all that. */
		CHECK(recv(fd, &byte, 1, 0) == 1 && byte == 'x');
	}
	close(fd);
	close(there);
	close(server);
}

/* No descriptors are left: an error, and everything that is open goes on. */
static void exhausted(void)
{
	int server = listener(SOCK_STREAM, PORT), there;
	int here = pair(server, PORT, &there), spare[400], n = 0, none;
	struct rlimit before, few = { 64, 64 };
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, PORT);
	char byte;

	/* The first message asks the engine how many streams there are. */
	CHECK(send(here, "x", 1, 0) == 1);
	CHECK(recv(there, &byte, 1, 0) == 1);
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	few.rlim_max = before.rlim_max;
	/* The engine of the process needs some, too: it is out of them at the same time. */
	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	while (n < 400 && (spare[n] = dup(0)) >= 0)
		n++;
	CHECK(n < 400 && errno == EMFILE);
	none = socket(family, SOCK_STREAM, IPPROTO_SCTP);
	CHECK(none == -1 && errno == EMFILE);
	FAILS(bind(here, (struct sockaddr *)&to, len), EMFILE);
	CHECK(send(here, "x", 1, 0) == 1);
	CHECK(recv(there, &byte, 1, 0) == 1);
#ifndef TEST_LKSCTP
	/* One is left, which the program takes, and none for the engine. */
	close(spare[--n]);
	FAILS(socket(family, SOCK_STREAM, IPPROTO_SCTP), EMFILE);
	FAILS(bind(here, (struct sockaddr *)&to, len), EINVAL);
#endif
	while (n > 0)
		close(spare[--n]);
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
	none = socket(family, SOCK_STREAM, IPPROTO_SCTP);
	CHECK(none >= 0);
	FAILS(bind(here, (struct sockaddr *)&to, len), EINVAL);
	close(none);
	close(here);
	close(there);
	close(server);
}

#ifndef TEST_LKSCTP
static void starting(void)
{
	struct tresse_config config = { .size = sizeof config };

	FAILS(tresse_start(NULL), EALREADY);
	CHECK(tresse_stop(1000) == 0);
	config.size = 3;
	FAILS(tresse_start(&config), EINVAL);
	config.size = sizeof config;
	config.profile = "no such profile";
	FAILS(tresse_start(&config), EINVAL);
	CHECK(strstr(tresse_error(), "no such profile"));
	config.profile = NULL;
	config.local = "not an address";
	FAILS(tresse_start(&config), EINVAL);
	config.local = "192.0.2.1";
	FAILS(tresse_start(&config), EADDRNOTAVAIL);
	CHECK(strstr(tresse_error(), "192.0.2.1"));
	config.local = loopback;
	config.udp_port = 70000;
	FAILS(tresse_start(&config), EINVAL);
	config.carrier = 7;
	FAILS(tresse_start(&config), EINVAL);
	FAILS(tresse_start(unmapped), EFAULT);
	config.carrier = TRESSE_UDP;
	/* A port in use. */
	struct sockaddr_storage at;
	socklen_t len = name(&at, loopback, 0);
	int udp = socket(family, SOCK_DGRAM, 0);
	CHECK(udp >= 0 && bind(udp, (struct sockaddr *)&at, len) == 0);
	CHECK(getsockname(udp, (struct sockaddr *)&at, &len) == 0);
	config.udp_port = port_of(&at);
	FAILS(tresse_start(&config), EADDRINUSE);
	close(udp);
	/* Raw sockets are for those with the capability. */
	if (geteuid() == 0 && seteuid(65534) == 0) {
		config.carrier = TRESSE_IP;
		config.udp_port = 0;
		FAILS(tresse_start(&config), EPERM);
		CHECK(strstr(tresse_error(), "CAP_NET_RAW"));
		CHECK(seteuid(0) == 0);
	}
	config.carrier = TRESSE_UDP;
	config.udp_port = -1;
	CHECK(tresse_start(&config) == 0);
	int fd = socket(family, SOCK_STREAM, IPPROTO_SCTP);
	CHECK(fd >= 0);
	/* What is open when it stops is closed. */
	char byte;
	CHECK(tresse_stop(1000) == 0);
	CHECK(tresse_stop(1000) == 0);
	FAILS(tresse_stop(-1), EINVAL);
	CHECK(recv(fd, &byte, 1, 0) <= 0);
	FAILS(socket(family, SOCK_STREAM, IPPROTO_SCTP), ENETDOWN);
	close(fd);
}
#endif

int main(int argc, char **argv)
{
	start(argc, argv);
	unmapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(unmapped != MAP_FAILED && munmap(unmapped, 4096) == 0);
	calls();
	pointers();
	exhausted();
#ifndef TEST_LKSCTP
	starting();
#endif
	return 0;
}
