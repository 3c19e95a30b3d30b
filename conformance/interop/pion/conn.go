// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"net"
	"sync/atomic"
)

// Chunk types that end an association (RFC 9260 §3.2).
const (
	chunkAbort            = 6
	chunkShutdownComplete = 14
	commonHeader          = 12
)

// conn carries SCTP packets in UDP datagrams (RFC 6951), or directly on IP, and notes how the association ended, which
// pion does not tell. A server learns its peer's address from what it receives.
type conn struct {
	net.PacketConn
	peer              atomic.Pointer[net.Addr]
	graceful, aborted atomic.Bool
}

func (c *conn) note(packet []byte) {
	if len(packet) <= commonHeader {
		return
	}
	switch packet[commonHeader] {
	case chunkShutdownComplete:
		c.graceful.Store(true)
	case chunkAbort:
		c.aborted.Store(true)
	}
}

func (c *conn) Read(buffer []byte) (int, error) {
	n, from, err := c.ReadFrom(buffer)
	if err == nil {
		c.peer.Store(&from)
		c.note(buffer[:n])
	}
	return n, err
}

func (c *conn) Write(packet []byte) (int, error) {
	peer := c.peer.Load()
	if peer == nil {
		return len(packet), nil // nobody is there yet
	}
	c.note(packet)
	return c.WriteTo(packet, *peer)
}

func (c *conn) RemoteAddr() net.Addr {
	if peer := c.peer.Load(); peer != nil {
		return *peer
	}
	return nil
}
