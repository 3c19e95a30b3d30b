// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"sync"
)

// The user data of an interoperability test; ../payload.h says the same in C.

const payloadMin = 8 // a message must have room for its index

// mix is one step of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// fill writes message index: words of eight bytes, big-endian, the last one cut. Word 0 is the index,
// word w is mix(index * 2^32 + w).
func fill(message []byte, index uint64) {
	var word [8]byte
	binary.BigEndian.PutUint64(message, index)
	for at := 8; at < len(message); at += 8 {
		binary.BigEndian.PutUint64(word[:], mix(index<<32+uint64(at)/8))
		copy(message[at:], word[:])
	}
}

// ppidOf is the payload protocol identifier that message index travels with.
func ppidOf(index uint64) uint32 {
	return 0x54520000 + uint32(index&0xffff)
}

// received verifies messages as they arrive, on any goroutine.
type received struct {
	sync.Mutex
	options  *options
	expected []byte
	next     []uint64 // per stream: the index that is due
	streams  int      // of them those whose last message may still come
	seen     []bool   // of unordered messages
	bytes    uint64
	messages uint64
	sum      uint64
	complete chan struct{} // closed when everything has arrived
}

func newReceived(o *options) *received {
	got := &received{options: o, expected: make([]byte, o.largest()), streams: o.streams, complete: make(chan struct{})}
	for stream := range o.streams {
		got.next = append(got.next, uint64(stream))
	}
	if o.unordered {
		got.seen = make([]bool, o.receive)
	}
	if o.receive == 0 {
		close(got.complete)
	}
	return got
}

func (got *received) accept(stream uint16, ppid uint32, message []byte) error {
	got.Lock()
	defer got.Unlock()
	if len(message) < payloadMin {
		return fmt.Errorf("message of %d bytes", len(message))
	}
	index := binary.BigEndian.Uint64(message)
	if size := got.options.sizeOf(index); len(message) != size {
		return fmt.Errorf("message of %d bytes instead of %d", len(message), size)
	}
	if index >= got.options.receive {
		return fmt.Errorf("message index %d does not exist", index)
	}
	expected := got.expected[:len(message)]
	fill(expected, index)
	if !bytes.Equal(expected, message) {
		return fmt.Errorf("message %d is corrupt", index)
	}
	if uint64(stream) != index%uint64(got.options.streams) {
		return fmt.Errorf("message %d came on stream %d", index, stream)
	}
	if ppid != ppidOf(index) {
		return fmt.Errorf("message %d came with PPID %x", index, ppid)
	}
	if got.options.unordered {
		if got.seen[index] {
			return fmt.Errorf("message %d came twice", index)
		}
		got.seen[index] = true
	} else {
		for ; got.options.partial && got.next[stream] < index; got.next[stream] += uint64(got.options.streams) {
			fmt.Printf("MISSING %d\n", got.next[stream])
		}
		// Ordered and reliable: exactly the next one of its stream.
		if index != got.next[stream] {
			return fmt.Errorf("stream %d: message %d instead of %d", stream, index, got.next[stream])
		}
		got.next[stream] += uint64(got.options.streams)
	}
	last := index+uint64(got.options.streams) >= got.options.receive
	if last {
		got.streams--
	}
	digest := fnv.New64a()
	digest.Write(message)
	got.bytes += uint64(len(message))
	got.messages++
	got.sum += digest.Sum64()
	complete := got.messages == got.options.receive
	if got.options.partial {
		complete = last && got.streams == 0
	}
	if complete {
		close(got.complete)
	}
	return nil
}
