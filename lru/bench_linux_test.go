package lru

import (
	"encoding/binary"
	"testing"
)

const benchItems = 100_000

// keyAt writes key i into buf. Consecutive keys are far apart in the list and map.
func keyAt(buf []byte, i int) []byte {
	binary.BigEndian.PutUint64(buf, uint64(i)*0x9e3779b97f4a7c15)
	return buf
}

func slotAt(i int) uint16 { return uint16(i*2654435761>>7) % 4096 }

func benchCache() *Cache {
	c := New()
	value := make([]byte, 128)
	key := make([]byte, 16)
	for i := range benchItems {
		c.Put(slotAt(i), keyAt(key, i), Item{Value: value})
	}
	return c
}

func BenchmarkGet(b *testing.B) {
	c, key, answer := benchCache(), make([]byte, 16), make([]byte, 128)
	b.ReportAllocs()
	i := 0
	done := reportCPU(b)
	for b.Loop() {
		it, ok := c.Get(slotAt(i), keyAt(key, i))
		if copy(answer, it.Value) != len(answer) || !ok {
			b.Fatal("absent")
		}
		i = (i + 7919) % benchItems
	}
	done()
}

func BenchmarkPutReplace(b *testing.B) {
	c, key, value := benchCache(), make([]byte, 16), make([]byte, 128)
	b.ReportAllocs()
	i := 0
	done := reportCPU(b)
	for b.Loop() {
		c.Put(slotAt(i), keyAt(key, i), Item{Value: value})
		i = (i + 7919) % benchItems
	}
	done()
}

func BenchmarkPutDeadline(b *testing.B) {
	c, key, value := benchCache(), make([]byte, 16), make([]byte, 128)
	b.ReportAllocs()
	i, now := 0, int64(0)
	done := reportCPU(b)
	for b.Loop() {
		now++
		c.Put(slotAt(i), keyAt(key, i), Item{Value: value, Deadline: now + 60_000})
		i = (i + 7919) % benchItems
	}
	done()
}

func BenchmarkPutInsertEvict(b *testing.B) {
	c, key, value := benchCache(), make([]byte, 16), make([]byte, 128)
	b.ReportAllocs()
	i := benchItems
	done := reportCPU(b)
	for b.Loop() {
		c.Put(slotAt(i), keyAt(key, i), Item{Value: value})
		victim, _ := c.Oldest()
		c.Remove(victim.Slot, victim.Key)
		i++
	}
	done()
}

// BenchmarkTouch touches in the order of the list, so every touch moves an item.
func BenchmarkTouch(b *testing.B) {
	c, key := benchCache(), make([]byte, 16)
	b.ReportAllocs()
	i := 0
	done := reportCPU(b)
	for b.Loop() {
		if _, _, moved := c.Touch(slotAt(i), keyAt(key, i)); !moved {
			b.Fatal("not moved")
		}
		i = (i + 1) % benchItems
	}
	done()
}
