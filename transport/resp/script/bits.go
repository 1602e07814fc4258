package script

import (
	"fmt"
	"math"
	"math/bits"
)

// bitLibrary works on 32 bits, and answers with signed numbers.
func bitLibrary() map[string]builtin {
	lib := map[string]builtin{
		"tobit": func(c call) int { return pushBits(c, bitsAt(c, 1)) },
		"bnot":  func(c call) int { return pushBits(c, ^bitsAt(c, 1)) },
		"bswap": func(c call) int { return pushBits(c, bits.ReverseBytes32(bitsAt(c, 1))) },
		"tohex": toHex,
		"band":  func(c call) int { return fold(c, func(a, b uint32) uint32 { return a & b }) },
		"bor":   func(c call) int { return fold(c, func(a, b uint32) uint32 { return a | b }) },
		"bxor":  func(c call) int { return fold(c, func(a, b uint32) uint32 { return a ^ b }) },
	}
	for name, f := range map[string]func(v uint32, n int) uint32{
		"lshift":  func(v uint32, n int) uint32 { return v << n },
		"rshift":  func(v uint32, n int) uint32 { return v >> n },
		"arshift": func(v uint32, n int) uint32 { return uint32(int32(v) >> n) },
		"rol":     func(v uint32, n int) uint32 { return bits.RotateLeft32(v, n) },
		"ror":     func(v uint32, n int) uint32 { return bits.RotateLeft32(v, -n) },
	} {
		lib[name] = func(c call) int { return pushBits(c, f(bitsAt(c, 1), int(bitsAt(c, 2)&31))) }
	}
	return lib
}

// bitsAt returns the lowest bits of an argument, rounded to an integer.
func bitsAt(c call, n int) uint32 {
	f := math.Mod(math.RoundToEven(c.num(n)), 1<<32)
	if f != f {
		return 0
	}
	return uint32(int64(f))
}

func pushBits(c call, v uint32) int { return c.pushNumber(float64(int32(v))) }

func fold(c call, f func(a, b uint32) uint32) int {
	v := bitsAt(c, 1)
	for i := 2; i <= c.L.GetTop(); i++ {
		v = f(v, bitsAt(c, i))
	}
	return pushBits(c, v)
}

// toHex writes so many digits, 8 at most, in capitals if the number of digits is negative.
func toHex(c call) int {
	v, n := bitsAt(c, 1), max(min(c.intOr(2, 8), 8), -8)
	format := "%08x"
	if n < 0 {
		format, n = "%08X", -n
	}
	return c.pushText(fmt.Sprintf(format, v)[8-n:])
}
