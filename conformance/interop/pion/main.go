// SPDX-License-Identifier: MIT OR Apache-2.0

// The peer of ../peer.h on pion/sctp over UDP encapsulation (RFC 6951), or without --udp directly on IP, which takes root: the
// same command line, user data and report. pion uses the SCTP port 5000 at both ends.
//
//	peer server [--udp PORT] --port PORT [options]
//	peer client [--udp PORT --peer-udp PORT] --peer-port PORT [options]
//
// Exit code 127: the stack cannot do what was asked for.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pion/sctp"
)

const (
	ipHeaders   = 20 // IPv4; those of IPv6 are 20 more
	udpHeaders  = 8
	sctpPort    = 5000
	maxMessage  = 8 << 20
	abortReason = "peer asked to abort"
)

type options struct {
	server                         bool
	address, peer                  string
	udp, port, peerUDP, peerPort   int
	send, receive                  uint64
	size, streams, mtu, timeout    int
	interval, burst                uint64
	unordered, duplex, expectAbort bool
	expectRestart, fastFailover    bool
	closing, with                  string
	initialStreams                 int
	resetAt, deniedAt              int64
	lifetime, retransmissions      int64
	partial                        bool
	first                          int
	uneven, byStream               bool
	scheduler                      string
}

// say prints a line and ends the process.
func say(code int, format string, arguments ...any) {
	fmt.Printf(format+"\n", arguments...)
	os.Exit(code)
}

func fail(format string, arguments ...any) {
	say(1, "FAIL "+format, arguments...)
}

func unsupported(what string) {
	say(127, "UNSUPPORTED %s", what)
}

func usage(problem string) {
	fmt.Fprintln(os.Stderr, problem)
	os.Exit(2)
}

func parse(arguments []string) *options {
	o := &options{}
	if len(arguments) < 1 || (arguments[0] != "server" && arguments[0] != "client") {
		usage("server or client?")
	}
	o.server = arguments[0] == "server"
	flags := flag.NewFlagSet("peer", flag.ExitOnError)
	messages := flags.Uint64("messages", 10000, "each way")
	flags.StringVar(&o.address, "address", "127.0.0.1", "our end")
	flags.StringVar(&o.peer, "peer", "", "the other end (the same)")
	flags.IntVar(&o.udp, "udp", 0, "our UDP port")
	flags.IntVar(&o.port, "port", sctpPort, "our SCTP port")
	flags.IntVar(&o.peerUDP, "peer-udp", 0, "the peer's UDP port")
	flags.IntVar(&o.peerPort, "peer-port", sctpPort, "the peer's SCTP port")
	flags.Uint64Var(&o.send, "send", 0, "messages to send, if not --messages")
	flags.Uint64Var(&o.receive, "receive", 0, "messages to receive, if not --messages")
	flags.IntVar(&o.size, "size", 1000, "bytes of each message")
	flags.IntVar(&o.first, "first", 0, "bytes of message 0, if it is larger")
	flags.BoolVar(&o.uneven, "uneven", false, "messages of every second stream are twice as long")
	flags.BoolVar(&o.byStream, "by-stream", false, "send all messages of a stream before those of the next one")
	flags.StringVar(&o.scheduler, "scheduler", "", "which stream sends next: round-robin or weighted-fair-queueing")
	flags.IntVar(&o.streams, "streams", 1, "in each direction")
	flags.IntVar(&o.mtu, "mtu", 1500, "largest IP packet")
	flags.IntVar(&o.timeout, "timeout", 60, "seconds")
	flags.Uint64Var(&o.interval, "interval", 0, "milliseconds from one burst to the next")
	flags.Uint64Var(&o.burst, "burst", 1, "messages of a burst")
	flags.Bool("no-delay", true, "small messages do not wait for company; pion never lets them")
	flags.BoolVar(&o.unordered, "unordered", false, "send and expect unordered messages")
	flags.BoolVar(&o.duplex, "duplex", false, "a server, too, sends from the start")
	flags.BoolVar(&o.expectAbort, "expect-abort", false, "the peer's ABORT is the expected end")
	flags.BoolVar(&o.expectRestart, "expect-restart", false, "the peer restarts once")
	flags.BoolVar(&o.fastFailover, "fast-failover", false, "notice failed paths quickly")
	flags.StringVar(&o.closing, "close", "", "shutdown, abort or wait")
	flags.StringVar(&o.with, "with", "", "features: interleaving or zero-checksum")
	flags.IntVar(&o.initialStreams, "initial-streams", 0, "with which the association begins; pion names all it has")
	flags.Int64Var(&o.resetAt, "reset-at", -1, "before this message the streams begin again")
	flags.Int64Var(&o.deniedAt, "denied-at", -1, "before this message a stream without data is to begin again, and does not")
	flags.Int64Var(&o.lifetime, "lifetime", -1, "milliseconds after which messages are given up")
	flags.Int64Var(&o.retransmissions, "retransmissions", -1, "after how many of them messages are given up")
	flags.BoolVar(&o.partial, "partial", false, "what comes may lack messages, but for the last one of each stream")
	askResetAt := flags.Int64("ask-reset-at", -1, "ask the other end to reset its streams")
	flags.Int64("change-key-at", -1, "before which message it changes its key")
	flags.Int64("delete-key-at", -1, "before which message it deletes one")
	flags.Bool("association-key", false, "whether the association has another one than the endpoint")
	flags.Int64("readdress-at", -1, "before which message its addresses change")
	resetAllAt := flags.Int64("reset-all-at", -1, "have everything begin again")
	priorities := flags.String("priorities", "", "what a full buffer gives up")
	flags.Int("send-buffer", 0, "bytes that may wait; pion has no limit of its own")
	flags.Int("destine-every", 0, "which messages go to the second address")
	flags.Int("ask-second", 0, "how often that one is asked")
	partialDelivery := flags.Int("partial-delivery", 0, "from how many bytes on a part of a message is read")
	addStreams := flags.Bool("add-streams", false, "ask for streams beyond those of the beginning")
	_ = flags.Parse(arguments[1:]) // it exits by itself
	if *askResetAt >= 0 {
		unsupported("pion/sctp has no call that asks the other end to reset its streams (RFC 6525 §6.3.2)")
	}
	if *resetAllAt >= 0 {
		unsupported("pion/sctp has no call that resets the whole association (RFC 6525 §6.3.3)")
	}
	if *priorities != "" {
		unsupported("pion/sctp has no call for messages that make room for more important ones (RFC 7496 §3.2)")
	}
	if *partialDelivery != 0 {
		unsupported("pion/sctp has no call that reads a part of a message")
	}
	if *addStreams {
		unsupported("pion/sctp has no call that adds streams (RFC 6525 §6.3.4)")
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["send"] {
		o.send = *messages
	}
	if !given["receive"] {
		o.receive = *messages
	}
	if o.closing == "" {
		o.closing = map[bool]string{true: "wait", false: "shutdown"}[o.server]
	}
	if o.peer == "" {
		o.peer = o.address
	}
	switch {
	case flags.NArg() > 0:
		usage("too many words")
	case !o.server && (o.udp == 0) != (o.peerUDP == 0):
		usage("a port is missing")
	case o.byStream && o.send%uint64(max(o.streams, 1)) != 0:
		usage("--by-stream takes as many messages on each stream")
	case o.size < payloadMin || o.largest() > maxMessage || o.streams < 1 || o.streams > 2048 || o.mtu < 576 ||
		o.burst == 0 || o.interval > 3600000:
		usage("a number is out of range")
	case o.closing != "wait" && o.closing != "shutdown" && o.closing != "abort":
		usage("--close shutdown, abort or wait?")
	}
	return o
}

// sizeOf is how many bytes message index has.
func (o *options) sizeOf(index uint64) int {
	if index == 0 && o.first != 0 {
		return o.first
	}
	if o.uneven && index%uint64(o.streams)%2 == 1 {
		return 2 * o.size
	}
	return o.size
}

// largest is how many the largest one has.
func (o *options) largest() int {
	if o.uneven {
		return max(2*o.size, o.first)
	}
	return max(o.size, o.first)
}

// indexOf is the message that is sent as number n.
func (o *options) indexOf(n uint64) uint64 {
	streams := uint64(o.streams)
	if each := o.send / streams; o.byStream {
		return n%each*streams + n/each
	}
	return n
}

// scheduling is how pion is told which stream sends next. Stream n has weight n + 1.
func (o *options) scheduling() []sctp.AssociationInterleavingOption {
	switch o.scheduler {
	case "round-robin":
		return []sctp.AssociationInterleavingOption{sctp.WithInterleavingRoundRobinScheduler()}
	case "weighted-fair-queueing":
		weights := []sctp.AssociationInterleavingOption{sctp.WithInterleavingWeightedFairQueueingScheduler()}
		for stream := range o.streams {
			number := uint16(stream)
			weights = append(weights, sctp.WithInterleavingWeightedFairQueueingWeight(number, number+1))
		}
		return weights
	}
	return nil
}

// check ends the process when the stack cannot do what is asked for.
func check(o *options) {
	switch {
	case strings.Contains(o.address+o.peer, ","):
		unsupported("pion/sctp has one path: an association runs over one net.Conn")
	case o.fastFailover:
		unsupported("pion/sctp has no failover")
	case o.port != sctpPort || o.peerPort != sctpPort:
		unsupported("pion/sctp uses SCTP port 5000 at both ends")
	case o.with == "deny-changes":
		unsupported("pion/sctp has no call that denies changes of streams (RFC 6525 §6.3.1)")
	case o.with == "auth", o.with == "auth,sha-1":
		unsupported("pion/sctp has no call that authenticates chunks (RFC 4895)")
	case strings.HasPrefix(o.with, "asconf"):
		unsupported("pion/sctp has no ASCONF chunks (RFC 5061)")
	case o.with == "mtu-search":
		unsupported("pion/sctp has no call that searches the path MTU with probes (RFC 8899)")
	case o.with == "nr-sack":
		unsupported("pion/sctp has no NR-SACK chunks")
	case o.with == "packet-drop-reports":
		unsupported("pion/sctp has no packet drop reports")
	case o.with == "ecn":
		unsupported("pion/sctp has no ECN")
	case o.scheduler != "" && o.with != "interleaving":
		unsupported("pion/sctp has no call that chooses the stream scheduler of DATA chunks (RFC 8260 §3)")
	case o.scheduler != "" && o.scheduling() == nil:
		unsupported("pion/sctp has no stream scheduler " + o.scheduler)
	case o.with == "interleaving", o.with == "zero-checksum":
	case o.with != "":
		unsupported("pion/sctp has no " + o.with)
	}
}

func open(o *options) *conn {
	address := net.ParseIP(o.address)
	if address == nil {
		fail("not an IP address: %s", o.address)
	}
	var socket interface {
		net.PacketConn
		SetReadBuffer(bytes int) error
	}
	var peer net.Addr
	var err error
	if o.udp == 0 {
		socket, err = net.ListenIP("ip:132", &net.IPAddr{IP: address})
		peer = &net.IPAddr{IP: net.ParseIP(o.peer)}
	} else {
		socket, err = net.ListenUDP("udp", &net.UDPAddr{IP: address, Port: o.udp})
		peer = &net.UDPAddr{IP: net.ParseIP(o.peer), Port: o.peerUDP}
	}
	if err != nil {
		fail("UDP port %d: %v", o.udp, err)
	}
	if o.udp == 0 {
		// What finds no room in it Linux (6.18) answers with an ICMP message: there were no such protocol.
		if err := socket.SetReadBuffer(4 << 20); err != nil {
			fail("receive buffer: %v", err)
		}
	}
	c := &conn{PacketConn: socket}
	if !o.server {
		c.peer.Store(&peer)
	}
	return c
}

func establish(o *options, c *conn) *sctp.Association {
	headers := ipHeaders
	if strings.Contains(o.address, ":") {
		headers += 20
	}
	if o.udp != 0 {
		headers += udpHeaders
	}
	interleaving := o.with == "interleaving"
	settings := []sctp.AssociationOption{
		// A write that blocks until all is sent leaves nothing to interleave.
		sctp.WithNetConn(c), sctp.WithBlockWrite(!interleaving), sctp.WithMTU(uint32(o.mtu - headers)),
		sctp.WithMaxMessageSize(maxMessage),
	}
	if interleaving {
		// A message that is not complete takes room in the buffer.
		settings = append(settings, sctp.WithEnableInterleaving(true), sctp.WithMaxReceiveBufferSize(2*maxMessage),
			sctp.WithInterleavingOptions(o.scheduling()...))
	}
	if o.with == "zero-checksum" {
		settings = append(settings, sctp.WithEnableZeroChecksum(true))
	}
	var association *sctp.Association
	var err error
	if o.server {
		fmt.Printf("READY udp=%d sctp=%d\n", o.udp, o.port)
		var server []sctp.ServerOption
		for _, s := range settings {
			server = append(server, s)
		}
		association, err = sctp.ServerWithOptions(server...)
	} else {
		var client []sctp.ClientOption
		for _, s := range settings {
			client = append(client, s)
		}
		association, err = sctp.ClientWithOptions(client...)
	}
	if err != nil {
		fail("the association could not be established: %v", err)
	}
	fmt.Println("UP")
	return association
}

// peer is one association at work.
type peer struct {
	*options
	association *sctp.Association
	got         *received
	lock        sync.Mutex
	lanes       map[uint16]*lane // by the number of a stream
	sent        uint64
	ended       chan struct{} // closed with the association
}

// lane is one stream. When the other end resets its half, what comes then is another stream of pion, while our half
// goes on with the old one.
type lane struct {
	write, read *sctp.Stream
	over        chan struct{} // closed when nothing more can be read of it
}

// use reads a stream until its end.
func (p *peer) use(stream *sctp.Stream) {
	p.lock.Lock()
	defer p.lock.Unlock()
	number := stream.StreamIdentifier()
	next := &lane{write: stream, read: stream, over: make(chan struct{})}
	var before chan struct{}
	if known := p.lanes[number]; known != nil {
		if known.read == stream {
			return
		}
		next.write, before = known.write, known.over
	}
	p.lanes[number] = next
	stream.SetReliabilityParams(p.unordered, sctp.ReliabilityTypeReliable, 0)
	go func() {
		if before != nil {
			<-before
		}
		defer close(next.over)
		buffer := make([]byte, p.largest()+1)
		for {
			n, ppid, err := stream.ReadSCTP(buffer)
			if err != nil {
				return // how the association ended is on the wire; or the other end has reset its half
			}
			if err := p.got.accept(number, uint32(ppid), buffer[:n]); err != nil {
				fail("%v", err)
			}
		}
	}()
}

func (p *peer) start() {
	go func() {
		for {
			stream, err := p.association.AcceptStream()
			if err != nil {
				close(p.ended)
				return
			}
			p.use(stream)
		}
	}()
	p.open()
}

// open has all streams, those that the peer has used already among them.
func (p *peer) open() {
	for number := range p.options.streams {
		if stream, err := p.association.OpenStream(uint16(number), 0); err == nil {
			p.use(stream)
		}
	}
}

// reset has all streams begin again. pion forgets one when both halves are reset; then it can be opened again.
func (p *peer) reset() {
	p.lock.Lock()
	closed := p.lanes
	p.lanes = map[uint16]*lane{}
	p.lock.Unlock()
	for number, lane := range closed {
		if err := lane.write.Close(); err != nil {
			fail("the reset of stream %d: %v", number, err)
		}
	}
	for _, lane := range closed {
		<-lane.over
	}
	p.open()
}

// beDenied asks for the reset of a stream that carries no data: a closed one pion does not open again before both halves
// are reset. Its application is not told what became of that.
func (p *peer) beDenied() {
	stream, err := p.association.OpenStream(uint16(p.options.streams), 0)
	if err != nil {
		fail("the stream to be reset: %v", err)
	}
	if err := stream.Close(); err != nil {
		fail("the reset: %v", err)
	}
}

// stream waits for one that the peer opened at the same moment.
func (p *peer) stream(number uint16) *sctp.Stream {
	for {
		p.lock.Lock()
		lane := p.lanes[number]
		p.lock.Unlock()
		if lane != nil {
			return lane.write
		}
		time.Sleep(time.Millisecond)
	}
}

// policy says when message index is given up; the last one of each stream never is.
func (p *peer) policy(index uint64) (byte, uint32) {
	switch last := index+uint64(p.options.streams) >= p.send; {
	case last:
	case p.lifetime >= 0:
		return sctp.ReliabilityTypeTimed, uint32(p.lifetime)
	case p.retransmissions >= 0:
		return sctp.ReliabilityTypeRexmit, uint32(p.retransmissions)
	}
	return sctp.ReliabilityTypeReliable, 0
}

func (p *peer) sendAll() {
	room := make([]byte, p.largest())
	start := time.Now()
	for n := range p.send {
		index := p.indexOf(n)
		due := time.Duration(n/p.burst*p.interval) * time.Millisecond
		time.Sleep(time.Until(start.Add(due)))
		if int64(index) == p.resetAt {
			p.reset()
		}
		if int64(index) == p.deniedAt {
			p.beDenied()
		}
		message := room[:p.sizeOf(index)]
		fill(message, index)
		stream := p.stream(uint16(index % uint64(p.options.streams)))
		kind, value := p.policy(index)
		stream.SetReliabilityParams(p.unordered, kind, value)
		ppid := sctp.PayloadProtocolIdentifier(ppidOf(index))
		if _, err := stream.WriteSCTP(message, ppid); err != nil {
			if p.expectAbort {
				return
			}
			fail("send of message %d: %v", index, err)
		}
		p.sent += uint64(len(message))
	}
	if p.byStream {
		fmt.Println("QUEUED")
	}
}

// drain waits until all has been read that came before the association ended: streams are read beside it.
func (p *peer) drain() {
	p.lock.Lock()
	lanes := slices.Collect(maps.Values(p.lanes))
	p.lock.Unlock()
	for _, lane := range lanes {
		<-lane.over
	}
}

func (p *peer) exchange() {
	sending := make(chan struct{})
	send := func() {
		p.sendAll()
		close(sending)
	}
	if !p.server || p.duplex {
		go send()
	}
	select {
	case <-p.got.complete:
	case <-p.ended:
		return
	}
	if p.server && !p.duplex {
		go send()
	}
	select {
	case <-sending:
	case <-p.ended:
		return
	}
	switch p.closing {
	case "shutdown":
		err := p.association.Shutdown(context.Background())
		// Not established any more: the peer's shutdown came first.
		if err != nil && !errors.Is(err, sctp.ErrShutdownNonEstablished) {
			fail("shutdown: %v", err)
		}
	case "abort":
		p.association.Abort(abortReason)
	}
	<-p.ended
}

func main() {
	o := parse(os.Args[1:])
	time.AfterFunc(time.Duration(o.timeout)*time.Second, func() { say(3, "FAIL timeout") })
	check(o)
	c := open(o)
	p := &peer{options: o, got: newReceived(o), lanes: map[uint16]*lane{}, ended: make(chan struct{})}
	p.association = establish(o, c)
	p.start()
	p.exchange()
	p.drain()
	end := "shutdown"
	switch {
	case c.aborted.Load():
		end = "aborted"
	case !c.graceful.Load():
		fail("the association ended without SHUTDOWN COMPLETE or ABORT")
	}
	if wanted := o.closing == "abort" || o.expectAbort; wanted != (end == "aborted") {
		fail("the association ended: %s", end)
	}
	p.got.Lock()
	if end == "shutdown" && p.got.messages != o.receive && !(o.partial && p.got.streams == 0) {
		fail("shut down after %d messages", p.got.messages)
	}
	for index, seen := range p.got.seen {
		if !seen {
			fmt.Printf("MISSING %d\n", index)
		}
	}
	say(0, "OK received=%d messages=%d sum=%016x sent=%d end=%s", p.got.bytes, p.got.messages,
		p.got.sum, p.sent, end)
}
