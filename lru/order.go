package lru

// order is the list of the items that are not protected, from the old end to the
// young end, which is by ascending stamp. It marks the oldest three quarters, so
// that reads need to report the use of those only: an item in the young quarter
// is far from eviction anyway.
//
// A ring: the root stands before the old end and behind the young end.
type order struct {
	root   node
	mark   *node // the youngest old node; the root if there is none
	length int
	olds   int // nodes from the old end up to the mark
}

func (o *order) init() {
	o.root.older, o.root.younger = &o.root, &o.root
	o.mark = &o.root
}

// oldest returns the node at the old end, or nil.
func (o *order) oldest() *node {
	if o.length == 0 {
		return nil
	}
	return o.root.younger
}

// add puts a node at the young end, where its use is the latest news: a hint that
// it waited for is void.
func (o *order) add(n *node) {
	n.hinted.Store(0)
	n.older, n.younger = o.root.older, &o.root
	n.older.younger, n.younger.older = n, n
	o.length++
	o.settle()
}

// remove takes a node out of the list.
func (o *order) remove(n *node) {
	if n == o.mark {
		o.mark = n.older
	}
	if n.old {
		n.old = false
		o.olds--
	}
	n.older.younger, n.younger.older = n.younger, n.older
	n.older, n.younger = nil, nil
	o.length--
	o.settle()
}

// settle moves the mark to its place, one step away at most. The last node is
// never old, so the mark never runs into the root from behind.
func (o *order) settle() {
	switch want := o.length * 3 / 4; {
	case o.olds < want:
		o.mark = o.mark.younger
		o.mark.old = true
		o.olds++
	case o.olds > want:
		o.mark.old = false
		o.mark = o.mark.older
		o.olds--
	}
}
