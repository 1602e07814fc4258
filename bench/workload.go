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

// stream draws the requests of one caller.
type stream struct {
	work   *Workload
	random *rand.Rand
}

// newStream returns the requests of the n-th caller: the same ones in every run.
func newStream(work *Workload, n int) *stream {
	return &stream{work, rand.New(rand.NewPCG(uint64(n), 1))}
}

// draw makes r the next request.
func (s *stream) draw(r *Request) {
	r.Key = AppendKey(r.Key[:0], s.work.keys.draw(s.random))
	if r.Read = s.work.reads == 1 || s.work.reads > 0 && s.random.Float64() < s.work.reads; r.Read {
		r.Value = nil
		return
	}
	r.Value = s.value()
}

func (s *stream) value() []byte {
	from := s.random.IntN(slack)
	return s.work.noise[from : from+s.work.sizes.draw(s.random)]
}
