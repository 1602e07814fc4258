package lru

// order is the list of the nodes that are not protected, from the old end to the
// young end, which is by ascending stamp. It marks the oldest three quarters, so
// that reads need to report the use of those only: an item in the young quarter
// is far from eviction anyway.
//
// A ring: node 0, the root, stands before the old end and behind the young end.
type order struct {
	nodes  *vector[node]
	mark   uint32 // the youngest old node; the root if there is none
	length int
	olds   int // nodes from the old end up to the mark
}

// oldest returns the node at the old end, or 0.
func (o *order) oldest() uint32 { return o.nodes.at(0).younger }

// add puts a node at the young end, where its use is the latest news: a hint that
// it waited for is void.
func (o *order) add(i uint32) {
	n, root := o.nodes.at(i), o.nodes.at(0)
	n.hinted = 0
	n.older, n.younger = root.older, 0
	o.nodes.at(n.older).younger = i
	root.older = i
	o.length++
	o.settle()
}

// remove takes a node out of the list.
func (o *order) remove(i uint32) {
	n := o.nodes.at(i)
	if i == o.mark {
		o.mark = n.older
	}
	if n.is(flagOld) {
		n.set(flagOld, false)
		o.olds--
	}
	o.nodes.at(n.older).younger, o.nodes.at(n.younger).older = n.younger, n.older
	o.length--
	o.settle()
}

// rename gives the place of the node from to its copy, the node to.
func (o *order) rename(from, to uint32) {
	n := o.nodes.at(to)
	o.nodes.at(n.older).younger, o.nodes.at(n.younger).older = to, to
	if o.mark == from {
		o.mark = to
	}
}

// settle moves the mark to its place, one step away at most. The last node is
// never old, so the mark never runs into the root from behind.
func (o *order) settle() {
	switch want := o.length * 3 / 4; {
	case o.olds < want:
		o.mark = o.nodes.at(o.mark).younger
		o.nodes.at(o.mark).set(flagOld, true)
		o.olds++
	case o.olds > want:
		n := o.nodes.at(o.mark)
		n.set(flagOld, false)
		o.mark = n.older
		o.olds--
	}
}
