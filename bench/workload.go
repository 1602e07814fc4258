package bench

import "math/rand/v2"

// Workload is what a load asks. Make it with NewWorkload.
type Workload struct {
	reads float64 // the share of requests that read, 0 to 1
	keys  Keys
	sizes Sizes
	noise []byte // of which the values are parts
}

// NewWorkload returns the workload in which that share of requests, 0 to 1, reads.
func NewWorkload(reads float64, keys Keys, sizes Sizes) Workload {
	return Workload{reads, keys, sizes, sizes.noise()}
}

// drawer draws the requests of one caller.
type drawer struct {
	work   *Workload
	random *rand.Rand
}

// newDrawer returns the requests of the n-th caller: the same ones in every run.
func newDrawer(work *Workload, n int) *drawer {
	return &drawer{work, rand.New(rand.NewPCG(uint64(n), 1))}
}

// draw makes r the next request.
func (s *drawer) draw(r *Request) {
	r.Key = AppendKey(r.Key[:0], s.work.keys.draw(s.random))
	if r.Read = s.work.reads == 1 || s.work.reads > 0 && s.random.Float64() < s.work.reads; r.Read {
		r.Value = nil
		return
	}
	r.Value = s.value()
}

func (s *drawer) value() []byte {
	from := s.random.IntN(slack)
	return s.work.noise[from : from+s.work.sizes.draw(s.random)]
}
