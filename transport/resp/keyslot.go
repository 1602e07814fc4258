package resp

// redisSlots is the number of slots that clients in cluster mode count with.
const redisSlots = 16384

// redisSlot returns the slot that clients in cluster mode give a key: the CRC-16 of its
// hash tag or, without one, of the key.
func redisSlot(key []byte) uint16 {
	return crc16(hashTag(key)) % redisSlots
}

func hashTag(key []byte) []byte {
	for i, b := range key {
		if b != '{' {
			continue
		}
		for n, end := range key[i+1:] {
			if end == '}' && n > 0 {
				return key[i+1 : i+1+n]
			} else if end == '}' {
				break
			}
		}
		break
	}
	return key
}

// crc16 is the XMODEM variant: polynomial 0x1021, from 0.
func crc16(b []byte) (sum uint16) {
	for _, x := range b {
		sum ^= uint16(x) << 8
		for range 8 {
			if sum&0x8000 != 0 {
				sum = sum<<1 ^ 0x1021
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}
