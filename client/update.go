package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringraft/ringraft/op"
)

const (
	defaultTries = 5
	maxTries     = 1000

	forUpdate = withTTL | keepTTL | protected | tries
)

// errLost is why one try of an update failed: somebody else changed what it had read.
var errLost = errors.New("somebody else changed what was read")

// Update reads key, has decide say what belongs there, and writes that if nothing has
// changed the key since; else it begins anew, after a random pause. found is false, and
// old zero, if nothing stands at the key. decide may be called several times, and an
// error of it ends the update.
//
// Update returns the version written, and how often it lost against another writer.
// After Tries losses the error matches ErrConditionNotMet. It takes WithTTL, KeepTTL,
// Protected and Tries.
func (c *Client) Update(
	ctx context.Context, key string, decide func(old Value, found bool) ([]byte, error), opts ...WriteOption,
) (version uint64, lost int, err error) {
	return update(ctx, c, opts, func(o writeOptions) (uint64, error) {
		old, err := c.Get(ctx, key, At(Linearizable))
		found := err == nil
		if err != nil && !errors.Is(err, ErrNotFound) {
			return 0, err
		}
		value, err := decide(old, found)
		if err != nil {
			return 0, err
		}
		res, err := c.do(ctx, o.set(key, value, unchanged(old.Version)), Local)
		if err == nil && res.Unmet {
			err = errLost
		}
		return res.Version, err
	})
}

// UpdateMany is Update for several keys at once. The keys must be in one slot, as those
// with the same {tag} are. decide gets what stands at those of them that exist, as it
// was at one moment, and returns what to put where; only at keys given, at most one value
// at each. Nothing is written if any of the keys has changed, also of those that are only
// read. It returns what was written, in decide's order: keys, and values' versions.
func (c *Client) UpdateMany(
	ctx context.Context, keys []string, decide func(old map[string]Value) ([]Pair, error), opts ...WriteOption,
) (written []Result, lost int, err error) {
	if err := oneSlot(keys); err != nil {
		return nil, 0, err
	}
	var get op.MGet
	for _, key := range keys {
		get.Keys = append(get.Keys, []byte(key))
	}
	return update(ctx, c, opts, func(o writeOptions) ([]Result, error) {
		read, err := c.do(ctx, get, Linearizable)
		if err != nil {
			return nil, err
		}
		pairs, err := decide(present(read.Items))
		if err != nil || len(pairs) == 0 {
			return nil, err
		}
		return c.commit(ctx, read.Items, pairs, o)
	})
}

// present returns what stands at those keys that exist.
func present(items []op.Item) map[string]Value {
	values := map[string]Value{}
	for _, it := range items {
		if it.Found {
			values[string(it.Key)] = newResult(it).Value
		}
	}
	return values
}

// commit writes the pairs if what was read still stands.
func (c *Client) commit(ctx context.Context, read []op.Item, pairs []Pair, opts writeOptions) ([]Result, error) {
	var o op.Txn
	for _, it := range read {
		o.Compares = append(o.Compares, op.Compare{Key: it.Key, Cond: unchanged(it.Version)})
	}
	for _, p := range pairs {
		if !slices.ContainsFunc(read, func(it op.Item) bool { return string(it.Key) == p.Key }) {
			return nil, op.Invalid("key", "%q was not read by the update that writes it", p.Key)
		}
		o.Then = append(o.Then, opts.set(p.Key, p.Value, op.Cond{}))
	}
	res, err := c.doTxn(ctx, o)
	switch {
	case err != nil:
		return nil, err
	case res.Unmet:
		return nil, errLost
	}
	written := make([]Result, len(pairs))
	for i, r := range res.Results {
		written[i] = Result{Key: pairs[i].Key, Existed: r.Found, Value: Value{Version: r.Version}}
	}
	return written, nil
}

// update tries until a try does not lose, or has lost too often.
func update[T any](ctx context.Context, c *Client, opts []WriteOption, try func(writeOptions) (T, error)) (done T, lost int, err error) {
	o, invalid := newWriteOptions(forUpdate, opts)
	if invalid != nil {
		return done, 0, invalid
	}
	if o.tries == 0 {
		o.tries = defaultTries
	}
	for {
		done, err = try(o)
		if !errors.Is(err, errLost) {
			return done, lost, err
		}
		if lost++; lost == o.tries {
			return done, lost, fmt.Errorf("%w: %w, %d times", ErrConditionNotMet, errLost, lost)
		}
		c.sleep(ctx, c.backoff.after(lost))
		if ctx.Err() != nil {
			return done, lost, gaveUp(ctx.Err(), lost, errLost)
		}
	}
}

// unchanged holds while the key has the version at which it was read, 0 for absent.
func unchanged(version uint64) op.Cond {
	if version == 0 {
		return op.Cond{Kind: op.CondAbsent}
	}
	return op.Cond{Kind: op.CondVersion, Version: version}
}

// oneSlot refuses lists of keys that no transaction could be sure to hold together.
func oneSlot(keys []string) error {
	if len(keys) == 0 || len(keys) > op.MaxTxnOps {
		return op.Invalid("keys", "there are %d; one update takes 1 to %d", len(keys), op.MaxTxnOps)
	}
	for _, key := range keys {
		if op.SlotOf([]byte(key)) != op.SlotOf([]byte(keys[0])) {
			return op.Invalid("keys", "%q and %q are in different slots; give them the same {tag}", keys[0], key)
		}
	}
	return nil
}
