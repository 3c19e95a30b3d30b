/* DSCP and IPv6 flow label (RFC 6458 8.1.12). What packets bear is looked at elsewhere. */
#include "suite.h"

static struct sctp_paddrparams told(int fd, const struct sctp_paddrparams *asked)
{
	struct sctp_paddrparams params = *asked;
	socklen_t len = sizeof params;
	WORKS(getsockopt(fd, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &params, &len));
	return params;
}

static void label(int fd, const struct sctp_paddrparams *asked)
{
	WORKS(setsockopt(fd, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, asked, sizeof *asked));
}

CASE(none_until_one_is_set)
{
	struct sctp_paddrparams nothing = { 0 };
	SAME(told(new_socket(ONE), &nothing).spp_flags & (SPP_DSCP | SPP_IPV6_FLOWLABEL), 0);
	SAME(told(paired(ONE).client, &nothing).spp_flags & (SPP_DSCP | SPP_IPV6_FLOWLABEL), 0);
}

CASE(dscp_is_the_upper_six_bits)
{
	struct sctp_paddrparams params = { .spp_flags = SPP_DSCP, .spp_dscp = 0xbb };
	int fd = new_socket(ONE);
	label(fd, &params);
	params = told(fd, &params);
	SAME(params.spp_flags & (SPP_DSCP | SPP_IPV6_FLOWLABEL), SPP_DSCP);
	SAME(params.spp_dscp, 0xb8);
}

CASE(an_address_has_its_own)
{
	struct pair pair = paired(ONE);
	struct sctp_paddrparams all = { .spp_flags = SPP_DSCP, .spp_dscp = 0x28 }, one = all;
	socklen_t len = sizeof one.spp_address;
	WORKS(getpeername(pair.client, (struct sockaddr *)&one.spp_address, &len));
	label(pair.client, &all);
	SAME(told(pair.client, &one).spp_dscp, 0x28);
	one.spp_dscp = 0x48;
	label(pair.client, &one);
	SAME(told(pair.client, &one).spp_dscp, 0x48);
	SAME(told(pair.client, &all).spp_dscp, 0x28);
	CHECK(told(pair.client, &one).spp_flags & SPP_DSCP);
	all.spp_dscp = 0x88;
	label(pair.client, &all);
	SAME(told(pair.client, &one).spp_dscp, 0x88);
}

CASE(an_association_has_those_of_its_socket)
{
	struct sctp_paddrparams params = { .spp_flags = SPP_DSCP, .spp_dscp = 0xb8 };
	int server = listening(ONE), client = new_socket(ONE);
	label(client, &params);
	WORKS(dial(client, port(server)));
	SAME(told(client, &params).spp_dscp, 0xb8);
	CHECK(told(client, &params).spp_flags & SPP_DSCP);
}

CASE(ipv4_has_no_flow_label)
{
	struct sctp_paddrparams params = { .spp_flags = SPP_IPV6_FLOWLABEL,
					   .spp_ipv6_flowlabel = 7 };
	struct pair pair = paired(ONE);
	int fd = new_socket(ONE);
	socklen_t len = sizeof params.spp_address;
	label(fd, &params);
	SAME(told(fd, &params).spp_flags & SPP_IPV6_FLOWLABEL, 0);
	WORKS(getpeername(pair.client, (struct sockaddr *)&params.spp_address, &len));
	label(pair.client, &params);
	SAME(told(pair.client, &params).spp_flags & SPP_IPV6_FLOWLABEL, 0);
}

CASE(a_flow_label_has_20_bits)
{
	struct sctp_paddrparams params = { .spp_flags = SPP_IPV6_FLOWLABEL,
					   .spp_ipv6_flowlabel = 0x9abcdef0 };
	family = AF_INET6;
	int fd = new_socket(ONE);
	label(fd, &params);
	params = told(fd, &params);
	CHECK(params.spp_flags & SPP_IPV6_FLOWLABEL);
	SAME(params.spp_ipv6_flowlabel, 0xcdef0);
}

static const struct old {
	const char *label;
	unsigned flags;
	int number;
} olds[] = {
	{ "dscp", SPP_DSCP, EINVAL },
	{ "flow_label", SPP_IPV6_FLOWLABEL, EINVAL },
	{ "others", SPP_HB_ENABLE, 0 },
};

/* Programs of old have a structure that ends before. */
EACH(without_room_for_them, olds)
{
	struct sctp_paddrparams params = { .spp_flags = row->flags };
	FAILS(setsockopt(new_socket(ONE), IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &params,
			 sizeof params - 4),
	      row->number);
}
