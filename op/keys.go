package op

// Keys returns the keys that o names, in their order; a scan names none, see
// [Scan.Covers].
func Keys(o Op) [][]byte {
	switch o := o.(type) {
	case MGet:
		return o.Keys
	case MDelete:
		return o.Keys
	case MSet:
		keys := make([][]byte, len(o.Pairs))
		for i, p := range o.Pairs {
			keys[i] = p.Key
		}
		return keys
	case Txn:
		return txnKeys(o.Compares, o.Then, o.Else)
	case Once:
		return append([][]byte{o.Key}, Keys(o.Txn)...)
	case Prepare:
		return txnKeys(o.Compares, o.Ops, nil)
	case Decide:
		return txnKeys(o.Compares, o.Ops, nil)
	}
	if !inTxn(o.Code()) {
		return nil
	}
	key, _ := footprint(o)
	return [][]byte{key}
}

func txnKeys(compares []Compare, then, otherwise []Op) [][]byte {
	keys := make([][]byte, 0, len(compares)+len(then)+len(otherwise))
	for _, c := range compares {
		keys = append(keys, c.Key)
	}
	for _, ops := range [][]Op{then, otherwise} {
		for _, o := range ops {
			key, _ := footprint(o)
			keys = append(keys, key)
		}
	}
	return keys
}

// distinct returns each of keys once.
func distinct(keys [][]byte) (once [][]byte) {
	seen := make(map[string]bool, len(keys))
	for _, key := range keys {
		if !seen[string(key)] {
			seen[string(key)] = true
			once = append(once, key)
		}
	}
	return once
}
