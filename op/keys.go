package op

// Keys returns the keys that o names, in their order; a scan names none, see
// [Scan.Covers].
func Keys(o Op) [][]byte { return AppendKeys(nil, o) }

// AppendKeys is Keys for callers who have memory for them.
func AppendKeys(keys [][]byte, o Op) [][]byte {
	switch o := o.(type) {
	case MGet:
		return append(keys, o.Keys...)
	case MDelete:
		return append(keys, o.Keys...)
	case MSet:
		for _, p := range o.Pairs {
			keys = append(keys, p.Key)
		}
		return keys
	case Txn:
		return appendTxnKeys(keys, o.Compares, o.Then, o.Else)
	case Once:
		return AppendKeys(append(keys, o.Key), o.Txn)
	case Prepare:
		return appendTxnKeys(keys, o.Compares, o.Ops, nil)
	case Decide:
		return appendTxnKeys(keys, o.Compares, o.Ops, nil)
	}
	if !inTxn(o.Code()) {
		return keys
	}
	key, _ := footprint(o)
	return append(keys, key)
}

func appendTxnKeys(keys [][]byte, compares []Compare, then, otherwise []Op) [][]byte {
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
