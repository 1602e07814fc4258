package session

import "github.com/ringraft/ringraft/op"

// answers is a set of numbers that lie in one window of op.MaxUnacknowledged: a bit each.
type answers [op.MaxUnacknowledged / 64]uint64

func (a *answers) has(n uint64) bool { return *a.word(n)>>(n%64)&1 != 0 }
func (a *answers) add(n uint64)      { *a.word(n) |= 1 << (n % 64) }
func (a *answers) remove(n uint64)   { *a.word(n) &^= 1 << (n % 64) }

func (a *answers) word(n uint64) *uint64 { return &a[n/64%uint64(len(a))] }
