package raftfsm

// Mark is a state's digest at an index. Replicas of a group that have equal indexes
// have equal digests.
type Mark struct {
	Index  uint64 // of the log, see FSM.Applied
	Digest uint64
}

// historyLen is how many indexes back a replica can be compared with its peers. At
// 16 bytes a mark it takes 64 KiB.
const historyLen = 4096

// history holds the marks of the last historyLen indexes, each at its place modulo
// that. Index 0 stands for no mark.
type history [historyLen]Mark

func (h *history) add(m Mark) { h[m.Index%historyLen] = m }

func (h *history) at(index uint64) (digest uint64, ok bool) {
	m := h[index%historyLen]
	return m.Digest, m.Index == index && index != 0
}
