/* The sockets API of RFC 6458, served by Tresse. Made by cbindgen (`just header`): do not edit.
 *
 * Include it instead of <netinet/sctp.h> in every source file that makes or uses SCTP sockets, before
 * their first use, and link with `pkg-config --libs tresse`. Then socket(), read(), close() and the like
 * serve SCTP sockets, too, as said at the end. */

#ifndef TRESSE_SCTP_H
#define TRESSE_SCTP_H

#include <aio.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef IPPROTO_SCTP
#define IPPROTO_SCTP 132
#endif
#ifndef SOL_SCTP
#define SOL_SCTP 132
#endif

struct mmsghdr;
struct timespec;

#ifdef __cplusplus
extern "C" {
#endif


/**
 * Special association identifiers (RFC 6458 §7.2).
 */
#define SCTP_FUTURE_ASSOC 0

#define SCTP_CURRENT_ASSOC 1

#define SCTP_ALL_ASSOC 2

/**
 * Socket options (RFC 6458 §8).
 */
#define SCTP_RTOINFO 0

#define SCTP_ASSOCINFO 1

#define SCTP_INITMSG 2

#define SCTP_NODELAY 3

#define SCTP_AUTOCLOSE 4

#define SCTP_SET_PEER_PRIMARY_ADDR 5

#define SCTP_PRIMARY_ADDR 6

#define SCTP_ADAPTATION_LAYER 7

#define SCTP_DISABLE_FRAGMENTS 8

#define SCTP_PEER_ADDR_PARAMS 9

#define SCTP_DEFAULT_SEND_PARAM 10

#define SCTP_EVENTS 11

#define SCTP_I_WANT_MAPPED_V4_ADDR 12

#define SCTP_MAXSEG 13

#define SCTP_STATUS 14

#define SCTP_GET_PEER_ADDR_INFO 15

#define SCTP_DELAYED_ACK_TIME 16

#define SCTP_DELAYED_ACK 16

#define SCTP_DELAYED_SACK 16

#define SCTP_CONTEXT 17

#define SCTP_FRAGMENT_INTERLEAVE 18

#define SCTP_PARTIAL_DELIVERY_POINT 19

#define SCTP_MAX_BURST 20

#define SCTP_AUTH_CHUNK 21

#define SCTP_HMAC_IDENT 22

#define SCTP_AUTH_KEY 23

#define SCTP_AUTH_ACTIVE_KEY 24

#define SCTP_AUTH_DELETE_KEY 25

#define SCTP_PEER_AUTH_CHUNKS 26

#define SCTP_LOCAL_AUTH_CHUNKS 27

#define SCTP_GET_ASSOC_NUMBER 28

#define SCTP_GET_ASSOC_ID_LIST 29

#define SCTP_AUTO_ASCONF 30

#define SCTP_PEER_ADDR_THLDS 31

#define SCTP_RECVRCVINFO 32

#define SCTP_RECVNXTINFO 33

#define SCTP_DEFAULT_SNDINFO 34

#define SCTP_AUTH_DEACTIVATE_KEY 35

#define SCTP_REUSE_PORT 36

#define SCTP_PEER_ADDR_THLDS_V2 37

#define SCTP_GET_PEER_ADDRS 108

#define SCTP_GET_LOCAL_ADDRS 109

#define SCTP_GET_ASSOC_STATS 112

#define SCTP_PR_SUPPORTED 113

#define SCTP_DEFAULT_PRINFO 114

#define SCTP_PR_ASSOC_STATUS 115

#define SCTP_PR_STREAM_STATUS 116

#define SCTP_RECONFIG_SUPPORTED 117

#define SCTP_ENABLE_STREAM_RESET 118

#define SCTP_RESET_STREAMS 119

#define SCTP_RESET_ASSOC 120

#define SCTP_ADD_STREAMS 121

#define SCTP_STREAM_SCHEDULER 123

#define SCTP_STREAM_SCHEDULER_VALUE 124

#define SCTP_INTERLEAVING_SUPPORTED 125

#define SCTP_EVENT 127

#define SCTP_ASCONF_SUPPORTED 128

#define SCTP_AUTH_SUPPORTED 129

#define SCTP_ECN_SUPPORTED 130

#define SCTP_EXPOSE_POTENTIALLY_FAILED_STATE 131

#define SCTP_REMOTE_UDP_ENCAPS_PORT 132

#define SCTP_PLPMTUD_PROBE_INTERVAL 133

/**
 * Those that Linux does not have: 1000 and FreeBSD's numbers.
 */
#define SCTP_EXPLICIT_EOR 1027

#define SCTP_USE_EXT_RCVINFO 1031

#define SCTP_PKTDROP_SUPPORTED 1049

/**
 * Stream schedulers (RFC 8260 §4.3.2). That per packet is one that Linux does not have.
 */
#define SCTP_SS_DEFAULT 0

#define SCTP_SS_FCFS 0

#define SCTP_SS_PRIO 1

#define SCTP_SS_RR 2

#define SCTP_SS_FB 3

#define SCTP_SS_WFQ 4

#define SCTP_SS_RR_PKT 1002

/**
 * `msg_flags` of a notification (RFC 6458 §6).
 */
#define MSG_NOTIFICATION 32768

/**
 * `sinfo_flags`, `snd_flags`, `rcv_flags` (RFC 6458 §5.3).
 */
#define SCTP_UNORDERED 1

#define SCTP_ADDR_OVER 2

#define SCTP_ABORT 4

#define SCTP_SACK_IMMEDIATELY 8

#define SCTP_SENDALL 64

#define SCTP_EOF 512

#define SCTP_EOR 8192

#define SCTP_NOTIFICATION 32768

/**
 * PR-SCTP policies (RFC 6458 §5.3.7, RFC 7496).
 */
#define SCTP_PR_SCTP_NONE 0

#define SCTP_PR_SCTP_TTL 16

#define SCTP_PR_SCTP_RTX 32

#define SCTP_PR_SCTP_PRIO 48

#define SCTP_PR_SCTP_MASK 48

/**
 * `sprstat_policy`: all of them.
 */
#define SCTP_PR_SCTP_ALL 128

/**
 * Types of ancillary data (RFC 6458 §5.3).
 */
#define SCTP_INIT 0

#define SCTP_SNDRCV 1

#define SCTP_SNDINFO 2

#define SCTP_RCVINFO 3

#define SCTP_NXTINFO 4

#define SCTP_PRINFO 5

#define SCTP_AUTHINFO 6

#define SCTP_DSTADDRV4 7

#define SCTP_DSTADDRV6 8

#define SCTP_EXTRCV 1003

/**
 * `serinfo_next_flags` (RFC 6458 §5.3.3).
 */
#define SCTP_NEXT_MSG_AVAIL 1

#define SCTP_NEXT_MSG_ISCOMPLETE 2

#define SCTP_NEXT_MSG_IS_UNORDERED 4

#define SCTP_NEXT_MSG_IS_NOTIFICATION 8

/**
 * `nxt_flags`, beside SCTP_UNORDERED and SCTP_NOTIFICATION (RFC 6458 §5.3.6).
 */
#define SCTP_COMPLETE 32

/**
 * Notifications (RFC 6458 §6.1).
 */
#define SCTP_SN_TYPE_BASE 32768

#define SCTP_DATA_IO_EVENT 32768

#define SCTP_ASSOC_CHANGE 32769

#define SCTP_PEER_ADDR_CHANGE 32770

#define SCTP_SEND_FAILED 32771

#define SCTP_REMOTE_ERROR 32772

#define SCTP_SHUTDOWN_EVENT 32773

#define SCTP_PARTIAL_DELIVERY_EVENT 32774

#define SCTP_ADAPTATION_INDICATION 32775

#define SCTP_AUTHENTICATION_EVENT 32776

#define SCTP_AUTHENTICATION_INDICATION 32776

#define SCTP_SENDER_DRY_EVENT 32777

#define SCTP_STREAM_RESET_EVENT 32778

#define SCTP_ASSOC_RESET_EVENT 32779

#define SCTP_STREAM_CHANGE_EVENT 32780

#define SCTP_SEND_FAILED_EVENT 32781

#define SCTP_NOTIFICATIONS_STOPPED_EVENT 33779

#define SCTP_PARTIAL_DELIVERY_ABORTED 0

#define SCTP_DATA_UNSENT 0

#define SCTP_DATA_SENT 1

/**
 * `sinfo_flags` and `snd_flags` of what comes back: the end of a message, or all of it (RFC 6458 §6.1.11).
 */
#define SCTP_DATA_LAST_FRAG 1

#define SCTP_DATA_NOT_FRAG 3

/**
 * SCTP_ENABLE_STREAM_RESET: what peers may ask for (RFC 6525 §6.3.1).
 */
#define SCTP_ENABLE_RESET_STREAM_REQ 1

#define SCTP_ENABLE_RESET_ASSOC_REQ 2

#define SCTP_ENABLE_CHANGE_ASSOC_REQ 4

/**
 * `srs_flags`.
 */
#define SCTP_STREAM_RESET_INCOMING 1

#define SCTP_STREAM_RESET_OUTGOING 2

/**
 * `strreset_flags`, `assocreset_flags` and `strchange_flags`.
 */
#define SCTP_STREAM_RESET_INCOMING_SSN 1

#define SCTP_STREAM_RESET_OUTGOING_SSN 2

#define SCTP_STREAM_RESET_DENIED 4

#define SCTP_STREAM_RESET_FAILED 8

#define SCTP_ASSOC_RESET_DENIED 4

#define SCTP_ASSOC_RESET_FAILED 8

#define SCTP_STREAM_CHANGE_DENIED 4

#define SCTP_STREAM_CHANGE_FAILED 8

/**
 * `sac_state`.
 */
#define SCTP_COMM_UP 0

#define SCTP_COMM_LOST 1

#define SCTP_RESTART 2

#define SCTP_SHUTDOWN_COMP 3

#define SCTP_CANT_STR_ASSOC 4

/**
 * `spc_state`.
 */
#define SCTP_ADDR_AVAILABLE 0

#define SCTP_ADDR_UNREACHABLE 1

#define SCTP_ADDR_REMOVED 2

#define SCTP_ADDR_ADDED 3

#define SCTP_ADDR_MADE_PRIM 4

#define SCTP_ADDR_CONFIRMED 5

#define SCTP_ADDR_POTENTIALLY_FAILED 6

/**
 * `spinfo_state`.
 */
#define SCTP_INACTIVE 0

#define SCTP_PF 1

#define SCTP_POTENTIALLY_FAILED 1

#define SCTP_ACTIVE 2

#define SCTP_UNCONFIRMED 3

#define SCTP_UNKNOWN 65535

/**
 * `sstat_state`.
 */
#define SCTP_EMPTY 0

#define SCTP_CLOSED 1

#define SCTP_COOKIE_WAIT 2

#define SCTP_COOKIE_ECHOED 3

#define SCTP_ESTABLISHED 4

#define SCTP_SHUTDOWN_PENDING 5

#define SCTP_SHUTDOWN_SENT 6

#define SCTP_SHUTDOWN_RECEIVED 7

#define SCTP_SHUTDOWN_ACK_SENT 8

/**
 * `spp_flags`.
 */
#define SPP_HB_ENABLE 1

#define SPP_HB_DISABLE 2

#define SPP_HB_DEMAND 4

#define SPP_PMTUD_ENABLE 8

#define SPP_PMTUD_DISABLE 16

#define SPP_SACKDELAY_ENABLE 32

#define SPP_SACKDELAY_DISABLE 64

#define SPP_HB_TIME_IS_ZERO 128

#define SPP_IPV6_FLOWLABEL 256

#define SPP_DSCP 512

/**
 * Flags of `sctp_bindx` (RFC 6458 §9.1).
 */
#define SCTP_BINDX_ADD_ADDR 1

#define SCTP_BINDX_REM_ADDR 2

/**
 * What `info` of `sctp_sendv` is (RFC 6458 §9.12).
 */
#define SCTP_SENDV_NOINFO 0

#define SCTP_SENDV_SNDINFO 1

#define SCTP_SENDV_PRINFO 2

#define SCTP_SENDV_AUTHINFO 3

#define SCTP_SENDV_SPA 4

#define SCTP_SEND_SNDINFO_VALID 1

#define SCTP_SEND_PRINFO_VALID 2

#define SCTP_SEND_AUTHINFO_VALID 4

/**
 * What `info` of `sctp_recvv` is (RFC 6458 §9.13).
 */
#define SCTP_RECVV_NOINFO 0

#define SCTP_RECVV_RCVINFO 1

#define SCTP_RECVV_NXTINFO 2

#define SCTP_RECVV_RN 3

/**
 * `auth_indication` (RFC 6458 §6.1.8).
 */
#define SCTP_AUTH_NEW_KEY 0

#define SCTP_AUTH_FREE_KEY 1

#define SCTP_AUTH_NO_AUTH 2

/**
 * How chunks are authenticated (RFC 4895 §8.3).
 */
#define SCTP_AUTH_HMAC_ID_SHA1 1

#define SCTP_AUTH_HMAC_ID_SHA256 3

/**
 * `carrier`: SCTP in UDP datagrams (RFC 6951).
 */
#define TRESSE_UDP 0

/**
 * `carrier`: directly on IP, as protocol 132; needs the capability CAP_NET_RAW.
 */
#define TRESSE_IP 1

/**
 * What `tresse_start` takes. Members that are 0 or NULL mean the default.
 */
struct tresse_config {
    /**
     * `sizeof(struct tresse_config)`: a program goes on working when members are added.
     */
    size_t size;
    /**
     * How associations recover from loss: a profile, also with overlays
     * ("rfc9260+early-retransmit-packets"). Default: "tresse".
     */
    const char *profile;
    /**
     * Local addresses, separated by commas ("192.0.2.1,198.51.100.1"). Several make every
     * association of a socket that is bound to none of them multihomed. Default: all
     * addresses.
     */
    const char *local;
    /**
     * TRESSE_UDP or TRESSE_IP.
     */
    int carrier;
    /**
     * UDP port for SCTP packets; -1: a free one. Default: 9899, or a free one if that is in use.
     */
    int udp_port;
    /**
     * UDP port of the peers to which associations are opened. Default: 9899.
     */
    int peer_udp_port;
    /**
     * How long `exit` waits, in milliseconds, for associations to be shut down. Default: 5000.
     */
    int exit_ms;
};

/**
 * Identifies an association of a one-to-many socket (RFC 6458 §3.1).
 */
typedef int32_t sctp_assoc_t;

/**
 * Ancillary data of the type SCTP_SNDRCV (RFC 6458 §5.3.2, deprecated).
 */
struct sctp_sndrcvinfo {
    uint16_t sinfo_stream;
    uint16_t sinfo_ssn;
    uint16_t sinfo_flags;
    uint32_t sinfo_ppid;
    uint32_t sinfo_context;
    uint32_t sinfo_timetolive;
    uint32_t sinfo_tsn;
    uint32_t sinfo_cumtsn;
    sctp_assoc_t sinfo_assoc_id;
};

/**
 * SCTP_INITMSG, and ancillary data of the type SCTP_INIT (RFC 6458 §5.3.1).
 */
struct sctp_initmsg {
    uint16_t sinit_num_ostreams;
    uint16_t sinit_max_instreams;
    uint16_t sinit_max_attempts;
    uint16_t sinit_max_init_timeo;
};

/**
 * How to send a message (RFC 6458 §5.3.4).
 */
struct sctp_sndinfo {
    uint16_t snd_sid;
    uint16_t snd_flags;
    uint32_t snd_ppid;
    uint32_t snd_context;
    sctp_assoc_t snd_assoc_id;
};

/**
 * What is known of a message that arrived (RFC 6458 §5.3.5).
 */
struct sctp_rcvinfo {
    uint16_t rcv_sid;
    uint16_t rcv_ssn;
    uint16_t rcv_flags;
    uint32_t rcv_ppid;
    uint32_t rcv_tsn;
    uint32_t rcv_cumtsn;
    uint32_t rcv_context;
    sctp_assoc_t rcv_assoc_id;
};

/**
 * What is known of the message that comes next (RFC 6458 §5.3.6).
 */
struct sctp_nxtinfo {
    uint16_t nxt_sid;
    uint16_t nxt_flags;
    uint32_t nxt_ppid;
    uint32_t nxt_length;
    sctp_assoc_t nxt_assoc_id;
};

/**
 * What is known of a message that arrived and of the one that comes next (RFC 6458 §5.3.3, deprecated), in the order of the RFC.
 */
struct sctp_extrcvinfo {
    uint16_t sinfo_stream;
    uint16_t sinfo_ssn;
    uint16_t sinfo_flags;
    uint32_t sinfo_ppid;
    uint32_t sinfo_context;
    uint32_t sinfo_pr_value;
    uint32_t sinfo_tsn;
    uint32_t sinfo_cumtsn;
    uint16_t serinfo_next_flags;
    uint16_t serinfo_next_stream;
    uint32_t serinfo_next_aid;
    uint32_t serinfo_next_length;
    uint32_t serinfo_next_ppid;
    sctp_assoc_t sinfo_assoc_id;
};

/**
 * How reliable a message is (RFC 6458 §5.3.7, RFC 7496 §4.2): a policy, and its milliseconds, retransmissions or priority.
 */
struct sctp_prinfo {
    uint16_t pr_policy;
    uint32_t pr_value;
};

/**
 * SCTP_DEFAULT_PRINFO (RFC 6458 §8.1.32), in the order of Linux.
 */
struct sctp_default_prinfo {
    sctp_assoc_t pr_assoc_id;
    uint32_t pr_value;
    uint16_t pr_policy;
};

/**
 * SCTP_PR_ASSOC_STATUS and SCTP_PR_STREAM_STATUS (RFC 7496 §4.3, §4.4): messages that were given up, before and after a
 * part of them was sent.
 */
struct sctp_prstatus {
    sctp_assoc_t sprstat_assoc_id;
    uint16_t sprstat_sid;
    uint16_t sprstat_policy;
    uint64_t sprstat_abandoned_unsent;
    uint64_t sprstat_abandoned_sent;
};

/**
 * Key of a message (RFC 6458 §5.3.8): refused with EINVAL.
 */
struct sctp_authinfo {
    uint16_t auth_keynumber;
};

/**
 * Several kinds of information for `sctp_sendv` (RFC 6458 §9.12).
 */
struct sctp_sendv_spa {
    uint32_t sendv_flags;
    struct sctp_sndinfo sendv_sndinfo;
    struct sctp_prinfo sendv_prinfo;
    struct sctp_authinfo sendv_authinfo;
};

/**
 * Both kinds of information of `sctp_recvv` (RFC 6458 §9.13).
 */
struct sctp_recvv_rn {
    struct sctp_rcvinfo recvv_rcvinfo;
    struct sctp_nxtinfo recvv_nxtinfo;
};

/**
 * SCTP_ASSOC_CHANGE: an association began or ended (RFC 6458 §6.1.1).
 */
struct sctp_assoc_change {
    uint16_t sac_type;
    uint16_t sac_flags;
    uint32_t sac_length;
    uint16_t sac_state;
    uint16_t sac_error;
    uint16_t sac_outbound_streams;
    uint16_t sac_inbound_streams;
    sctp_assoc_t sac_assoc_id;
    uint8_t sac_info[0];
};

/**
 * SCTP_PEER_ADDR_CHANGE: an address of the peer changed (RFC 6458 §6.1.2).
 */
struct __attribute__((packed, aligned(4))) sctp_paddr_change {
    uint16_t spc_type;
    uint16_t spc_flags;
    uint32_t spc_length;
    struct sockaddr_storage spc_aaddr;
    int32_t spc_state;
    int32_t spc_error;
    sctp_assoc_t spc_assoc_id;
};

/**
 * SCTP_REMOTE_ERROR: the peer sent an ERROR chunk (RFC 6458 §6.1.3).
 */
struct sctp_remote_error {
    uint16_t sre_type;
    uint16_t sre_flags;
    uint32_t sre_length;
    uint16_t sre_error;
    sctp_assoc_t sre_assoc_id;
    uint8_t sre_data[0];
};

/**
 * SCTP_SEND_FAILED (RFC 6458 §6.1.4, deprecated).
 */
struct sctp_send_failed {
    uint16_t ssf_type;
    uint16_t ssf_flags;
    uint32_t ssf_length;
    uint32_t ssf_error;
    struct sctp_sndrcvinfo ssf_info;
    sctp_assoc_t ssf_assoc_id;
    uint8_t ssf_data[0];
};

/**
 * SCTP_SEND_FAILED_EVENT: a message was not delivered (RFC 6458 §6.1.11).
 */
struct sctp_send_failed_event {
    uint16_t ssf_type;
    uint16_t ssf_flags;
    uint32_t ssf_length;
    uint32_t ssf_error;
    struct sctp_sndinfo ssfe_info;
    sctp_assoc_t ssf_assoc_id;
    uint8_t ssf_data[0];
};

/**
 * SCTP_SHUTDOWN_EVENT: the peer sends no more (RFC 6458 §6.1.5).
 */
struct sctp_shutdown_event {
    uint16_t sse_type;
    uint16_t sse_flags;
    uint32_t sse_length;
    sctp_assoc_t sse_assoc_id;
};

/**
 * SCTP_ADAPTATION_INDICATION: the adaptation layer of the peer (RFC 6458 §6.1.6).
 */
struct sctp_adaptation_event {
    uint16_t sai_type;
    uint16_t sai_flags;
    uint32_t sai_length;
    uint32_t sai_adaptation_ind;
    sctp_assoc_t sai_assoc_id;
};

/**
 * SCTP_PARTIAL_DELIVERY_EVENT: the rest of a message that was read in part will not come (RFC 6458 §6.1.7).
 */
struct sctp_pdapi_event {
    uint16_t pdapi_type;
    uint16_t pdapi_flags;
    uint32_t pdapi_length;
    uint32_t pdapi_indication;
    sctp_assoc_t pdapi_assoc_id;
    uint32_t pdapi_stream;
    uint32_t pdapi_seq;
};

/**
 * SCTP_AUTHENTICATION_EVENT: a key is used, or not any more, or the peer does not authenticate (RFC 6458 §6.1.8).
 */
struct sctp_authkey_event {
    uint16_t auth_type;
    uint16_t auth_flags;
    uint32_t auth_length;
    uint16_t auth_keynumber;
    uint16_t auth_altkeynumber;
    uint32_t auth_indication;
    sctp_assoc_t auth_assoc_id;
};

/**
 * SCTP_SENDER_DRY_EVENT: everything was acknowledged (RFC 6458 §6.1.9).
 */
struct sctp_sender_dry_event {
    uint16_t sender_dry_type;
    uint16_t sender_dry_flags;
    uint32_t sender_dry_length;
    sctp_assoc_t sender_dry_assoc_id;
};

/**
 * SCTP_STREAM_RESET_EVENT: streams begin again (RFC 6525 §6.1.1).
 */
struct sctp_stream_reset_event {
    uint16_t strreset_type;
    uint16_t strreset_flags;
    uint32_t strreset_length;
    sctp_assoc_t strreset_assoc_id;
    uint16_t strreset_stream_list[0];
};

/**
 * SCTP_ASSOC_RESET_EVENT: all streams and the TSNs begin again (RFC 6525 §6.1.2).
 */
struct sctp_assoc_reset_event {
    uint16_t assocreset_type;
    uint16_t assocreset_flags;
    uint32_t assocreset_length;
    sctp_assoc_t assocreset_assoc_id;
    uint32_t assocreset_local_tsn;
    uint32_t assocreset_remote_tsn;
};

/**
 * SCTP_STREAM_CHANGE_EVENT: there are more streams (RFC 6525 §6.1.3).
 */
struct sctp_stream_change_event {
    uint16_t strchange_type;
    uint16_t strchange_flags;
    uint32_t strchange_length;
    sctp_assoc_t strchange_assoc_id;
    uint16_t strchange_instrms;
    uint16_t strchange_outstrms;
};

/**
 * What all notifications begin with (RFC 6458 §6.1).
 */
struct sctp_tlv {
    uint16_t sn_type;
    uint16_t sn_flags;
    uint32_t sn_length;
};

/**
 * SCTP_EVENTS: which notifications to get (RFC 6458 §6.2.1, deprecated).
 */
struct sctp_event_subscribe {
    uint8_t sctp_data_io_event;
    uint8_t sctp_association_event;
    uint8_t sctp_address_event;
    uint8_t sctp_send_failure_event;
    uint8_t sctp_peer_error_event;
    uint8_t sctp_shutdown_event;
    uint8_t sctp_partial_delivery_event;
    uint8_t sctp_adaptation_layer_event;
    uint8_t sctp_authentication_event;
    uint8_t sctp_sender_dry_event;
    uint8_t sctp_stream_reset_event;
    uint8_t sctp_assoc_reset_event;
    uint8_t sctp_stream_change_event;
    uint8_t sctp_send_failure_event_event;
};

/**
 * SCTP_EVENT: one notification, on or off (RFC 6458 §6.2.2).
 */
struct sctp_event {
    sctp_assoc_t se_assoc_id;
    uint16_t se_type;
    uint8_t se_on;
};

/**
 * SCTP_RTOINFO, in milliseconds (RFC 6458 §8.1.1).
 */
struct sctp_rtoinfo {
    sctp_assoc_t srto_assoc_id;
    uint32_t srto_initial;
    uint32_t srto_max;
    uint32_t srto_min;
};

/**
 * SCTP_ASSOCINFO (RFC 6458 §8.1.2).
 */
struct sctp_assocparams {
    sctp_assoc_t sasoc_assoc_id;
    uint16_t sasoc_asocmaxrxt;
    uint16_t sasoc_number_peer_destinations;
    uint32_t sasoc_peer_rwnd;
    uint32_t sasoc_local_rwnd;
    uint32_t sasoc_cookie_life;
};

/**
 * SCTP_PRIMARY_ADDR (RFC 6458 §8.1.9).
 */
struct __attribute__((packed, aligned(4))) sctp_setprim {
    sctp_assoc_t ssp_assoc_id;
    struct sockaddr_storage ssp_addr;
};

/**
 * SCTP_SET_PEER_PRIMARY_ADDR (RFC 6458 §8.3.1): the peer is asked to send to that address of ours by default. EPERM unless
 * SCTP_ASCONF_SUPPORTED is set, and the peer changes addresses as well (RFC 5061).
 */
struct __attribute__((packed, aligned(4))) sctp_setpeerprim {
    sctp_assoc_t sspp_assoc_id;
    struct sockaddr_storage sspp_addr;
};

/**
 * SCTP_ADAPTATION_LAYER (RFC 6458 §8.1.10).
 */
struct sctp_setadaptation {
    uint32_t ssb_adaptation_ind;
};

/**
 * SCTP_PEER_ADDR_PARAMS (RFC 6458 §8.1.12).
 */
struct __attribute__((packed, aligned(4))) sctp_paddrparams {
    sctp_assoc_t spp_assoc_id;
    struct sockaddr_storage spp_address;
    uint32_t spp_hbinterval;
    uint16_t spp_pathmaxrxt;
    uint32_t spp_pathmtu;
    uint32_t spp_sackdelay;
    uint32_t spp_flags;
    uint32_t spp_ipv6_flowlabel;
    uint8_t spp_dscp;
};

/**
 * SCTP_DELAYED_SACK (RFC 6458 §8.1.19).
 */
struct sctp_sack_info {
    sctp_assoc_t sack_assoc_id;
    uint32_t sack_delay;
    uint32_t sack_freq;
};

/**
 * A number for an association: SCTP_MAX_BURST, SCTP_CONTEXT, SCTP_MAXSEG.
 */
struct sctp_assoc_value {
    sctp_assoc_t assoc_id;
    uint32_t assoc_value;
};

/**
 * SCTP_GET_PEER_ADDR_INFO (RFC 6458 §8.2.2).
 */
struct __attribute__((packed, aligned(4))) sctp_paddrinfo {
    sctp_assoc_t spinfo_assoc_id;
    struct sockaddr_storage spinfo_address;
    int32_t spinfo_state;
    uint32_t spinfo_cwnd;
    uint32_t spinfo_srtt;
    uint32_t spinfo_rto;
    uint32_t spinfo_mtu;
};

/**
 * SCTP_STATUS (RFC 6458 §8.2.1).
 */
struct sctp_status {
    sctp_assoc_t sstat_assoc_id;
    int32_t sstat_state;
    uint32_t sstat_rwnd;
    uint16_t sstat_unackdata;
    uint16_t sstat_penddata;
    uint16_t sstat_instrms;
    uint16_t sstat_outstrms;
    uint32_t sstat_fragmentation_point;
    struct sctp_paddrinfo sstat_primary;
};

/**
 * SCTP_GET_ASSOC_ID_LIST (RFC 6458 §8.2.6).
 */
struct sctp_assoc_ids {
    uint32_t gaids_number_of_ids;
    sctp_assoc_t gaids_assoc_id[0];
};

/**
 * SCTP_AUTH_CHUNK (RFC 6458 §8.3.1).
 */
struct sctp_authchunk {
    uint8_t sauth_chunk;
};

/**
 * SCTP_AUTH_KEY (RFC 6458 §8.3.2).
 */
struct sctp_authkey {
    sctp_assoc_t sca_assoc_id;
    uint16_t sca_keynumber;
    uint16_t sca_keylength;
    uint8_t sca_key[0];
};

/**
 * SCTP_AUTH_ACTIVE_KEY, SCTP_AUTH_DEACTIVATE_KEY, SCTP_AUTH_DELETE_KEY (RFC 6458 §8.1.20, §8.3.4, §8.3.5).
 */
struct sctp_authkeyid {
    sctp_assoc_t scact_assoc_id;
    uint16_t scact_keynumber;
};

/**
 * SCTP_HMAC_IDENT (RFC 6458 §8.1.16).
 */
struct sctp_hmacalgo {
    uint32_t shmac_num_idents;
    uint16_t shmac_idents[0];
};

/**
 * SCTP_PEER_AUTH_CHUNKS, SCTP_LOCAL_AUTH_CHUNKS (RFC 6458 §8.2.3, §8.2.4).
 */
struct sctp_authchunks {
    sctp_assoc_t gauth_assoc_id;
    uint32_t gauth_number_of_chunks;
    uint8_t gauth_chunks[0];
};

/**
 * SCTP_RESET_STREAMS (RFC 6525 §6.3.2).
 */
struct sctp_reset_streams {
    sctp_assoc_t srs_assoc_id;
    uint16_t srs_flags;
    uint16_t srs_number_streams;
    uint16_t srs_stream_list[0];
};

/**
 * SCTP_ADD_STREAMS (RFC 6525 §6.3.4).
 */
struct sctp_add_streams {
    sctp_assoc_t sas_assoc_id;
    uint16_t sas_instrms;
    uint16_t sas_outstrms;
};

/**
 * SCTP_STREAM_SCHEDULER_VALUE (RFC 8260 §4.3.3).
 */
struct sctp_stream_value {
    sctp_assoc_t assoc_id;
    uint16_t stream_id;
    uint16_t stream_value;
};

/**
 * SCTP_REMOTE_UDP_ENCAPS_PORT (RFC 6951 §6.1); the port in network byte order.
 */
struct sctp_udpencaps {
    sctp_assoc_t sue_assoc_id;
    struct sockaddr_storage sue_address;
    uint16_t sue_port;
};

/**
 * SCTP_PEER_ADDR_THLDS (RFC 7829 §7.2), as Linux has it: consecutive errors after which an address is unreachable (0: no
 * change), and after which it has potentially failed.
 */
struct sctp_paddrthlds {
    sctp_assoc_t spt_assoc_id;
    struct sockaddr_storage spt_address;
    uint16_t spt_pathmaxrxt;
    uint16_t spt_pathpfthld;
};

/**
 * SCTP_PEER_ADDR_THLDS_V2 of Linux: the same, and after how many the address is the primary one no more; 0xffff: never.
 */
struct sctp_paddrthlds_v2 {
    sctp_assoc_t spt_assoc_id;
    struct sockaddr_storage spt_address;
    uint16_t spt_pathmaxrxt;
    uint16_t spt_pathpfthld;
    uint16_t spt_pathcpthld;
};

/**
 * SCTP_PLPMTUD_PROBE_INTERVAL, of Linux: path MTU discovery by probes (RFC 8899); milliseconds from 5000, 0 for none.
 */
struct sctp_probeinterval {
    sctp_assoc_t spi_assoc_id;
    struct sockaddr_storage spi_address;
    uint32_t spi_interval;
};

/**
 * SCTP_GET_ASSOC_STATS, of Linux. What is not counted is 0.
 */
struct sctp_assoc_stats {
    sctp_assoc_t sas_assoc_id;
    struct sockaddr_storage sas_obs_rto_ipaddr;
    uint64_t sas_maxrto;
    uint64_t sas_isacks;
    uint64_t sas_osacks;
    uint64_t sas_opackets;
    uint64_t sas_ipackets;
    uint64_t sas_rtxchunks;
    uint64_t sas_outofseqtsns;
    uint64_t sas_idupchunks;
    uint64_t sas_gapcnt;
    uint64_t sas_ouodchunks;
    uint64_t sas_iuodchunks;
    uint64_t sas_oodchunks;
    uint64_t sas_iodchunks;
    uint64_t sas_octrlchunks;
    uint64_t sas_ictrlchunks;
};

/**
 * Any notification (RFC 6458 §6.1): `sn_header.sn_type` tells which.
 */
union sctp_notification {
    struct sctp_tlv sn_header;
    struct sctp_assoc_change sn_assoc_change;
    struct sctp_paddr_change sn_paddr_change;
    struct sctp_remote_error sn_remote_error;
    struct sctp_send_failed sn_send_failed;
    struct sctp_shutdown_event sn_shutdown_event;
    struct sctp_adaptation_event sn_adaptation_event;
    struct sctp_pdapi_event sn_pdapi_event;
    struct sctp_authkey_event sn_authkey_event;
    struct sctp_sender_dry_event sn_sender_dry_event;
    struct sctp_send_failed_event sn_send_failed_event;
    struct sctp_stream_reset_event sn_strreset_event;
    struct sctp_assoc_reset_event sn_assocreset_event;
    struct sctp_stream_change_event sn_strchange_event;
};

/**
 * `socket`. An SCTP socket (protocol IPPROTO_SCTP, or SOCK_SEQPACKET of AF_INET or AF_INET6)
 * needs an engine: see `tresse_start`. Without one the error is EPROTONOSUPPORT.
 */
int tresse_socket(int domain, int type, int protocol);

/**
 * `close`. Waits as SO_LINGER says.
 */
int tresse_close(int fd);

/**
 * Starts the engine of this process, which has a thread of its own; `config` may be NULL. Returns
 * 0, or 1 if there is nothing to start: an engine is named by TRESSE_ENGINE in the environment, as
 * `tresse run` does, or the process that forked this one has one; sockets are that one's then.
 *
 * Returns -1 on error, sets errno, and `tresse_error` says more: EINVAL for a member that is wrong,
 * EADDRINUSE and EADDRNOTAVAIL as `bind`, EPERM without the capability for TRESSE_IP, EALREADY if
 * it runs already.
 */
int tresse_start(const struct tresse_config *config);

/**
 * One line about the last failure of `tresse_start` in this thread; valid until the next call.
 */
const char *tresse_error(void);

/**
 * Stops the engine of this process. Sockets that are still open are closed as by `close`, and
 * their associations have `timeout_ms` to be shut down; what is left after that is lost. Then the
 * engine can be started again. Returns 0, also if none runs, or -1 and EINVAL for a negative time.
 * `exit` does this by itself.
 */
int tresse_stop(int timeout_ms);

/**
 * `sctp_bindx` (RFC 6458 §9.1): SCTP_BINDX_ADD_ADDR or SCTP_BINDX_REM_ADDR, also in associations where RFC 5061 was agreed on.
 */
int tresse_bindx(int sd,
                 struct sockaddr *addrs,
                 int addrcnt,
                 int flags);

/**
 * `sctp_connectx` (RFC 6458 §9.9): connects to a peer with several addresses. `id` may be NULL.
 */
int tresse_connectx(int sd, struct sockaddr *addrs, int addrcnt, sctp_assoc_t *id);

/**
 * `sctp_peeloff` (RFC 6458 §9.2): a one-to-one socket for an association of a one-to-many socket.
 */
int tresse_peeloff(int sd, sctp_assoc_t assoc_id);

/**
 * As `sctp_peeloff`, with SOCK_NONBLOCK and SOCK_CLOEXEC as flags for the new descriptor.
 */
int tresse_peeloff_flags(int sd, sctp_assoc_t assoc_id, unsigned int flags);

/**
 * `sctp_getpaddrs` (RFC 6458 §9.3): the addresses of the peer, packed one behind the other; free
 * them with `sctp_freepaddrs`. Returns how many, 0 without an association.
 */
int tresse_getpaddrs(int sd, sctp_assoc_t id, struct sockaddr **addrs);

/**
 * `sctp_getladdrs` (RFC 6458 §9.5): the addresses that the socket is bound to; free them with
 * `sctp_freeladdrs`. Returns how many, 0 if it is not bound.
 */
int tresse_getladdrs(int sd, sctp_assoc_t id, struct sockaddr **addrs);

/**
 * `sctp_freepaddrs` (RFC 6458 §9.4). Returns 0, as that of Linux does.
 */
int tresse_freepaddrs(struct sockaddr *addrs);

/**
 * `sctp_freeladdrs` (RFC 6458 §9.6). Returns 0, as that of Linux does.
 */
int tresse_freeladdrs(struct sockaddr *addrs);

/**
 * `sctp_getaddrlen`: bytes of an address of that family, or -1 and EINVAL.
 */
int tresse_getaddrlen(sa_family_t family);

/**
 * `sctp_opt_info` (RFC 6458 §9.14): `getsockopt` for an association of a one-to-many socket.
 */
int tresse_opt_info(int sd, sctp_assoc_t id, int opt, void *arg, socklen_t *size);

/**
 * `sctp_sendv` (RFC 6458 §9.12): sends a message with what `info`, of the type `infotype`, says.
 * With addresses that no association has yet, one is set up.
 */
ssize_t tresse_sendv(int sd,
                     const struct iovec *iov,
                     int iovcnt,
                     struct sockaddr *addrs,
                     int addrcnt,
                     void *info,
                     socklen_t infolen,
                     unsigned int infotype,
                     int flags);

/**
 * `sctp_send` (RFC 6458 §9.10, deprecated): sends a message as `sinfo` says, which may be NULL.
 */
ssize_t tresse_sctp_send(int sd,
                         const void *msg,
                         size_t len,
                         const struct sctp_sndrcvinfo *sinfo,
                         int flags);

/**
 * `sctp_sendx` (RFC 6458 §9.11, deprecated): as `sctp_send`; with addresses that no association has
 * yet, one is set up, and `sinfo_assoc_id` tells which.
 */
ssize_t tresse_sendx(int sd,
                     const void *msg,
                     size_t len,
                     struct sockaddr *addrs,
                     int addrcnt,
                     struct sctp_sndrcvinfo *sinfo,
                     int flags);

/**
 * `sctp_sendmsg` (RFC 6458 §9.7, deprecated).
 */
ssize_t tresse_sctp_sendmsg(int sd,
                            const void *msg,
                            size_t len,
                            const struct sockaddr *to,
                            socklen_t tolen,
                            uint32_t ppid,
                            uint32_t flags,
                            uint16_t stream_no,
                            uint32_t timetolive,
                            uint32_t context);

/**
 * `sctp_recvv` (RFC 6458 §9.13): receives a message, and what SCTP_RECVRCVINFO and
 * SCTP_RECVNXTINFO ask for.
 */
ssize_t tresse_recvv(int sd,
                     const struct iovec *iov,
                     int iovlen,
                     struct sockaddr *from,
                     socklen_t *fromlen,
                     void *info,
                     socklen_t *infolen,
                     unsigned int *infotype,
                     int *flags);

/**
 * `sctp_recvmsg` (RFC 6458 §9.8, deprecated). `sinfo` is filled in if SCTP_EVENTS asked for
 * `sctp_data_io_event`, and with SCTP_USE_EXT_RCVINFO as `struct sctp_extrcvinfo`.
 */
ssize_t tresse_sctp_recvmsg(int sd,
                            void *msg,
                            size_t len,
                            struct sockaddr *from,
                            socklen_t *fromlen,
                            struct sctp_sndrcvinfo *sinfo,
                            int *msg_flags);

#endif  /* TRESSE_SCTP_H */

/* The standard names. Each of them is another name of a function above, for the compiler alone: no
 * symbol of this library can stand in for one of another. Pointers to functions and members of
 * structures that are called so work as well. */

#define TRESSE_NAME(name, symbol) extern __typeof__(symbol) name __asm__(#symbol);
#define TRESSE_DECLARE(name) extern __typeof__(name) tresse_##name;
#define TRESSE_REPLACE(name) extern __typeof__(name) name __asm__("tresse_" #name);
#define TRESSE_REPLACE_AS(name, other) extern __typeof__(name) name __asm__("tresse_" #other);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"

/* Functions of the C library that serve SCTP sockets, too: tresse_bind() does what bind() does, tresse_listen()
 * with a backlog of 0 ends listening on a one-to-many socket (RFC 6458, 3.1.3), tresse_ioctl(FIONREAD) tells how
 * much of the next message can be read, tresse_recvmmsg() takes further messages only if they are there,
 * tresse_sendfile() sends one message for each 64 KiB, a stream of tresse_fdopen() one each time that it is
 * flushed (fileno() does not know it), tresse_vdprintf() one. For an SCTP socket tresse_splice(),
 * tresse_aio_read(), tresse_aio_write() and tresse_lio_listio() fail with EINVAL. */
TRESSE_DECLARE(bind)
TRESSE_DECLARE(connect)
TRESSE_DECLARE(listen)
TRESSE_DECLARE(accept)
TRESSE_DECLARE(shutdown)
TRESSE_DECLARE(getsockname)
TRESSE_DECLARE(getpeername)
TRESSE_DECLARE(getsockopt)
TRESSE_DECLARE(setsockopt)
TRESSE_DECLARE(ioctl)
TRESSE_DECLARE(send)
TRESSE_DECLARE(sendto)
TRESSE_DECLARE(sendmsg)
TRESSE_DECLARE(recv)
TRESSE_DECLARE(recvfrom)
TRESSE_DECLARE(recvmsg)
TRESSE_DECLARE(read)
TRESSE_DECLARE(write)
TRESSE_DECLARE(readv)
TRESSE_DECLARE(writev)
TRESSE_DECLARE(sendfile)
TRESSE_DECLARE(aio_read)
TRESSE_DECLARE(aio_write)
TRESSE_DECLARE(lio_listio)
TRESSE_DECLARE(eventfd_read)
TRESSE_DECLARE(eventfd_write)
TRESSE_DECLARE(poll)
TRESSE_DECLARE(epoll_ctl)
TRESSE_DECLARE(epoll_wait)
TRESSE_DECLARE(epoll_pwait)
#ifdef __USE_POSIX
TRESSE_DECLARE(fdopen)
#endif
#ifdef __USE_XOPEN2K8
TRESSE_DECLARE(vdprintf)
#endif
#ifdef __USE_GNU
TRESSE_DECLARE(accept4)
TRESSE_DECLARE(sendmmsg)
TRESSE_DECLARE(recvmmsg)
TRESSE_DECLARE(splice)
TRESSE_DECLARE(ppoll)
TRESSE_DECLARE(preadv2)
TRESSE_DECLARE(pwritev2)
#endif

TRESSE_NAME(sctp_bindx, tresse_bindx)
TRESSE_NAME(sctp_connectx, tresse_connectx)
TRESSE_NAME(sctp_peeloff, tresse_peeloff)
TRESSE_NAME(sctp_peeloff_flags, tresse_peeloff_flags)
TRESSE_NAME(sctp_getpaddrs, tresse_getpaddrs)
TRESSE_NAME(sctp_freepaddrs, tresse_freepaddrs)
TRESSE_NAME(sctp_getladdrs, tresse_getladdrs)
TRESSE_NAME(sctp_freeladdrs, tresse_freeladdrs)
TRESSE_NAME(sctp_getaddrlen, tresse_getaddrlen)
TRESSE_NAME(sctp_opt_info, tresse_opt_info)
TRESSE_NAME(sctp_sendmsg, tresse_sctp_sendmsg)
TRESSE_NAME(sctp_recvmsg, tresse_sctp_recvmsg)
TRESSE_NAME(sctp_send, tresse_sctp_send)
TRESSE_NAME(sctp_sendx, tresse_sendx)
TRESSE_NAME(sctp_sendv, tresse_sendv)
TRESSE_NAME(sctp_recvv, tresse_recvv)

/* Define TRESSE_NO_SOCKET_NAMES to call tresse_socket(), tresse_read(), ... by these names instead. */
#ifndef TRESSE_NO_SOCKET_NAMES
TRESSE_REPLACE(socket)
TRESSE_REPLACE(bind)
TRESSE_REPLACE(connect)
TRESSE_REPLACE(listen)
TRESSE_REPLACE(accept)
TRESSE_REPLACE(shutdown)
TRESSE_REPLACE(getsockname)
TRESSE_REPLACE(getpeername)
TRESSE_REPLACE(getsockopt)
TRESSE_REPLACE(setsockopt)
TRESSE_REPLACE(send)
TRESSE_REPLACE(sendto)
TRESSE_REPLACE(sendmsg)
TRESSE_REPLACE(recvmsg)
TRESSE_REPLACE(write)
TRESSE_REPLACE(readv)
TRESSE_REPLACE(writev)
TRESSE_REPLACE(close)
TRESSE_REPLACE(ioctl)
TRESSE_REPLACE(eventfd_read)
TRESSE_REPLACE(eventfd_write)
TRESSE_REPLACE(epoll_ctl)
TRESSE_REPLACE(epoll_wait)
TRESSE_REPLACE(epoll_pwait)
#ifdef __USE_POSIX
TRESSE_REPLACE(fdopen)
#endif
#ifdef __USE_GNU
TRESSE_REPLACE(accept4)
TRESSE_REPLACE(sendmmsg)
TRESSE_REPLACE(recvmmsg)
TRESSE_REPLACE(splice)
TRESSE_REPLACE_AS(preadv64v2, preadv2)
TRESSE_REPLACE_AS(pwritev64v2, pwritev2)
#endif
#ifdef __USE_LARGEFILE64
TRESSE_REPLACE_AS(sendfile64, sendfile)
TRESSE_REPLACE_AS(aio_read64, aio_read)
TRESSE_REPLACE_AS(aio_write64, aio_write)
TRESSE_REPLACE_AS(lio_listio64, lio_listio)
#endif
#ifdef __USE_FILE_OFFSET64
/* The C library has given these another name already. */
#define sendfile(out, in, offset, count) tresse_sendfile(out, in, offset, count)
#define aio_read(control) tresse_aio_read(control)
#define aio_write(control) tresse_aio_write(control)
#define lio_listio(mode, list, count, event) \
    tresse_lio_listio(mode, (void *const *)(list), count, event)
#define preadv2(fd, iov, count, place, flags) tresse_preadv2(fd, iov, count, place, flags)
#define pwritev2(fd, iov, count, place, flags) tresse_pwritev2(fd, iov, count, place, flags)
#else
TRESSE_REPLACE(sendfile)
TRESSE_REPLACE(aio_read)
TRESSE_REPLACE(aio_write)
TRESSE_REPLACE(lio_listio)
#ifdef __USE_GNU
TRESSE_REPLACE(preadv2)
TRESSE_REPLACE(pwritev2)
#endif
#endif
#if defined __USE_FORTIFY_LEVEL && __USE_FORTIFY_LEVEL > 0
/* The C library has these as inline functions then, which cannot get another name. */
#ifdef __cplusplus
#error "tresse/sctp.h: with _FORTIFY_SOURCE, C++ needs TRESSE_NO_SOCKET_NAMES"
#endif
#define poll(fds, count, timeout) tresse_poll(fds, count, timeout)
#define ppoll(fds, count, timeout, mask) tresse_ppoll(fds, count, timeout, mask)
#define read(fd, base, len) tresse_read(fd, base, len)
#define recv(fd, base, len, flags) tresse_recv(fd, base, len, flags)
#define recvfrom(fd, base, len, flags, from, from_len) \
    tresse_recvfrom(fd, base, len, flags, from, from_len)
#if defined __USE_XOPEN2K8 && defined __x86_64__
extern int tresse_dprintf(int fd, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));
#define dprintf tresse_dprintf
#define vdprintf(fd, format, arguments) tresse_vdprintf(fd, format, arguments)
#endif
#else
#ifdef __USE_XOPEN2K8
TRESSE_REPLACE(vdprintf)
#ifdef __x86_64__
TRESSE_REPLACE(dprintf)
#endif
#endif
TRESSE_REPLACE(poll)
#ifdef __USE_GNU
TRESSE_REPLACE(ppoll)
#endif
TRESSE_REPLACE(read)
TRESSE_REPLACE(recv)
TRESSE_REPLACE(recvfrom)
#endif
#endif

#ifdef __cplusplus
}
#endif
#pragma GCC diagnostic pop

/* What programs written for the header of lksctp-tools look for. */
#define HAVE_SCTP
#define HAVE_SCTP_MULTIBUF
#define HAVE_SCTP_NOCONNECT
#define HAVE_SCTP_SENDV 1
#define HAVE_SCTP_PEELOFF_FLAGS 1
#define sctp_prim sctp_setprim
#define SCTP_AUTH_NEWKEY SCTP_AUTH_NEW_KEY
#define shmac_number_of_idents shmac_num_idents
