package peer

import "testing"

// TestOutboxUsesItsMemoryAgain, also if it is woken for what it has taken already.
func TestOutboxUsesItsMemoryAgain(t *testing.T) {
	t.Parallel()
	o := newOutbox(1<<10, 1<<10)
	used := map[*byte]bool{}
	write := func(during func()) {
		b := o.take()
		used[&b[0]] = true
		during()
		o.giveBack(b)
	}
	post := func() { o.post(kindPing, 0, nil) }
	for range 8 {
		post()
		write(post)
		write(func() {})
		if b := o.take(); len(b) > 0 {
			t.Fatalf("%d bytes are pending, want none", len(b))
		}
	}
	if len(used) > 2 {
		t.Errorf("%d pieces of memory, want one that is written and one that fills", len(used))
	}
}
