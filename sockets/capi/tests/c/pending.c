/* Ends while it connects to somebody who does not answer. */
#include "test.h"

int main(int argc, char **argv)
{
	struct sockaddr_storage to;
	start(argc, argv);
	socklen_t len = name(&to, loopback, 5091);
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_SCTP);
	FAILS(connect(fd, (struct sockaddr *)&to, len), EINPROGRESS);
	return 0;
}
