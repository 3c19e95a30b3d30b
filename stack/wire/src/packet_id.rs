//! The number of a packet in captures (`epb_packetid` of pcapng), which the library that writes them
//! does not know: the same wherever the packet was captured, so that an analyser sees whether it was
//! lost, even among packets that look alike.

const EPB_PACKETID: u16 = 5;
/// Code and length of `opt_endofopt`.
const END_OF_OPTIONS: [u8; 4] = [0; 4];
/// Where the length of the captured packet stands, and the packet behind it and its original length.
const CAPTURED: usize = 20;
const DATA: usize = 28;

/// Adds a packet's number to `block`, an enhanced packet block in little endian
/// (draft-ietf-opsawg-pcapng §4.3). Any other block stays as it is.
pub fn add_packet_id(block: &mut Vec<u8>, id: u64) {
    let Some(captured) = block.get(CAPTURED..).and_then(|rest| rest.first_chunk()) else { return };
    let captured = u32::from_le_bytes(*captured) as usize;
    let options = DATA + captured.next_multiple_of(4);
    let Some(behind) = block.len().checked_sub(options + 4) else { return };
    if !block.starts_with(&[6, 0, 0, 0]) {
        return;
    }
    let mut option = Vec::with_capacity(16);
    option.extend_from_slice(&EPB_PACKETID.to_le_bytes());
    option.extend_from_slice(&8_u16.to_le_bytes());
    option.extend_from_slice(&id.to_le_bytes());
    if behind == 0 {
        option.extend_from_slice(&END_OF_OPTIONS);
    }
    block.splice(options..options, option);
    let length = u32::try_from(block.len()).unwrap_or(u32::MAX).to_le_bytes();
    let trailer = block.len() - 4;
    block[4..8].copy_from_slice(&length);
    block[trailer..].copy_from_slice(&length);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with a packet of these bytes and these options.
    fn block(data: &[u8], options: &[u8]) -> Vec<u8> {
        let length = (32 + data.len().next_multiple_of(4) + options.len()) as u32;
        let words = [6, length, 0, 1, 2, data.len() as u32, data.len() as u32];
        let mut block: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        block.extend(data);
        block.resize(block.len().next_multiple_of(4), 0);
        block.extend(options);
        block.extend(length.to_le_bytes());
        block
    }

    #[test]
    fn the_number_stands_before_other_options() {
        let number = [5, 0, 8, 0, 0xef, 0xbe, 0, 0, 0, 0, 0, 1];
        let comment = [1, 0, 2, 0, b'h', b'i', 0, 0, 0, 0, 0, 0];
        for data in [&b"abcd"[..], b"abcde", b""] {
            let mut alone = block(data, &[]);
            add_packet_id(&mut alone, 1 << 56 | 0xbeef);
            assert_eq!(alone, block(data, &[&number[..], &[0; 4]].concat()));
            let mut more = block(data, &comment);
            add_packet_id(&mut more, 1 << 56 | 0xbeef);
            assert_eq!(more, block(data, &[number, comment].concat()));
        }
    }

    #[test]
    fn what_is_no_such_block_stays() {
        for mut other in [vec![], vec![6, 0, 0, 0], vec![1; 40], block(&[0; 8], &[])[..36].into()] {
            let before = other.clone();
            add_packet_id(&mut other, 1);
            assert_eq!(other, before);
        }
    }
}
