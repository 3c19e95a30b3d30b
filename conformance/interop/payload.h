/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/*
 * The user data that the two ends of an interoperability test exchange. Every byte of a message
 * follows from its index, so a receiver verifies all of it without keeping anything.
 * lab/peers/src/payload.rs says the same in Rust.
 */

#ifndef TRESSE_PAYLOAD_H
#define TRESSE_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#define PAYLOAD_MIN 8u /* a message must have room for its index */

/* SplitMix64, one step. */
static inline uint64_t payload_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static inline void payload_put_be64(uint8_t *at, uint64_t value, size_t room)
{
	for (size_t i = 0; i < 8 && i < room; i++)
		at[i] = (uint8_t)(value >> (56 - 8 * i));
}

/* Words of eight bytes, big-endian, the last one cut: word 0 is the index, word w is
 * mix(index * 2^32 + w). */
static inline void payload_fill(uint8_t *message, size_t size, uint64_t index)
{
	payload_put_be64(message, index, size);
	for (size_t at = 8; at < size; at += 8)
		payload_put_be64(message + at, payload_mix((index << 32) + at / 8), size - at);
}

/* The index of a message of at least PAYLOAD_MIN bytes. */
static inline uint64_t payload_index(const uint8_t *message)
{
	uint64_t index = 0;

	for (size_t i = 0; i < 8; i++)
		index = index << 8 | message[i];
	return index;
}

/* The payload protocol identifier it travels with, in host order. */
static inline uint32_t payload_ppid(uint64_t index)
{
	return 0x54520000u + (uint32_t)(index & 0xffff);
}

/* FNV-1a over one message. The sum over messages, modulo 2^64, does not depend on their order. */
static inline uint64_t payload_digest(const uint8_t *message, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ message[i]) * 0x100000001b3u;
	return hash;
}

#endif
