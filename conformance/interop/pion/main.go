// SPDX-License-Identifier: MIT OR Apache-2.0

// The peer of ../peer.h on pion/sctp over UDP encapsulation (RFC 6951): the same command line, user
// data and report. pion uses the SCTP port 5000 at both ends.
//
//	peer server --udp PORT --port PORT [options]
//	peer client --udp PORT --peer-udp PORT --peer-port PORT [options]
//
// Exit code 127: the stack cannot do what was asked for.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pion/sctp"
)

const (
	ipHeaders   = 20 + 8 // IPv4 and UDP; those of IPv6 are 20 more
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
	expectRestart, impatient       bool
	closing, with                  string
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
	flags.BoolVar(&o.impatient, "impatient", false, "notice failed paths quickly")
	flags.StringVar(&o.closing, "close", "", "shutdown, abort or wait")
	flags.StringVar(&o.with, "with", "", "features: none")
	_ = flags.Parse(arguments[1:]) // it exits by itself
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
	case o.udp == 0 || (!o.server && o.peerUDP == 0):
		usage("a port is missing")
	case o.size < payloadMin || o.size > maxMessage || o.streams < 1 || o.streams > 2048 || o.mtu < 576 ||
		o.burst == 0 || o.interval > 3600000:
		usage("a number is out of range")
	case o.closing != "wait" && o.closing != "shutdown" && o.closing != "abort":
		usage("--close shutdown, abort or wait?")
	}
	return o
}

// check ends the process when the stack cannot do what is asked for.
func check(o *options) {
	switch {
	case strings.Contains(o.address+o.peer, ","):
		unsupported("pion/sctp has one path: an association runs over one net.Conn")
	case o.impatient:
		unsupported("pion/sctp has no failover")
	case o.port != sctpPort || o.peerPort != sctpPort:
		unsupported("pion/sctp uses SCTP port 5000 at both ends")
	case o.with != "":
		unsupported("pion/sctp has no " + o.with)
	}
}

func open(o *options) *conn {
	address := net.ParseIP(o.address)
	if address == nil {
		fail("not an IP address: %s", o.address)
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: address, Port: o.udp})
	if err != nil {
		fail("UDP port %d: %v", o.udp, err)
	}
	c := &conn{UDPConn: socket}
	if !o.server {
		c.peer.Store(&net.UDPAddr{IP: net.ParseIP(o.peer), Port: o.peerUDP})
	}
	return c
}

func establish(o *options, c *conn) *sctp.Association {
	headers := ipHeaders
	if strings.Contains(o.address, ":") {
		headers += 20
	}
	settings := []sctp.AssociationOption{
		sctp.WithNetConn(c), sctp.WithBlockWrite(true), sctp.WithMTU(uint32(o.mtu - headers)),
		sctp.WithMaxMessageSize(maxMessage),
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
	streams     sync.Map // number of a stream: *sctp.Stream
	sent        uint64
	ended       chan struct{} // closed with the association
}

// use reads a stream until its end.
func (p *peer) use(stream *sctp.Stream) {
	number := stream.StreamIdentifier()
	if _, known := p.streams.LoadOrStore(number, stream); known {
		return
	}
	stream.SetReliabilityParams(p.unordered, sctp.ReliabilityTypeReliable, 0)
	go func() {
		buffer := make([]byte, p.size+1)
		for {
			n, ppid, err := stream.ReadSCTP(buffer)
			if err != nil {
				return // how the association ended is on the wire
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
	for number := range p.options.streams {
		// One that the peer has used already comes from AcceptStream.
		if stream, err := p.association.OpenStream(uint16(number), 0); err == nil {
			p.use(stream)
		}
	}
}

// stream waits for one that the peer opened at the same moment.
func (p *peer) stream(number uint16) *sctp.Stream {
	for {
		if stream, ok := p.streams.Load(number); ok {
			return stream.(*sctp.Stream)
		}
		time.Sleep(time.Millisecond)
	}
}

func (p *peer) sendAll() {
	message := make([]byte, p.size)
	start := time.Now()
	for index := range p.send {
		due := time.Duration(index/p.burst*p.interval) * time.Millisecond
		time.Sleep(time.Until(start.Add(due)))
		fill(message, index)
		stream := p.stream(uint16(index % uint64(p.options.streams)))
		ppid := sctp.PayloadProtocolIdentifier(ppidOf(index))
		if _, err := stream.WriteSCTP(message, ppid); err != nil {
			if p.expectAbort {
				return
			}
			fail("send of message %d: %v", index, err)
		}
		p.sent += uint64(p.size)
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
	p := &peer{options: o, got: newReceived(o), ended: make(chan struct{})}
	p.association = establish(o, c)
	p.start()
	p.exchange()
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
	if end == "shutdown" && p.got.messages != o.receive {
		fail("shut down after %d messages", p.got.messages)
	}
	say(0, "OK received=%d messages=%d sum=%016x sent=%d end=%s", p.got.bytes, p.got.messages,
		p.got.sum, p.sent, end)
}
