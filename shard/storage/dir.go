package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/gofrs/flock"
)

const (
	lockFile       = "lock"
	groupsDir      = "groups"
	quarantinedEnd = ".quarantined"
	// maxReason bounds a quarantine's reason, in bytes.
	maxReason = 4 << 10

	adviseRestore = "restore the directory as it was; the cluster refuses a node that was emptied"
)

// Dir is a node's data directory, locked while open. Its methods may be called
// from several goroutines.
type Dir struct {
	path     string
	cfg      Config
	lock     *flock.Flock
	watchdog *watchdog
	space    *space
	logs     logSet
	caches   *cacheShares

	mu       sync.Mutex
	identity Identity
	replicas replicaSet
}

// Open opens the data directory, and creates it if it is not there or empty. Errors
// wrap ErrLocked, ErrForeign, ErrNewer or ErrDamaged where one of them is the reason.
func Open(path string, cfg Config) (*Dir, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Dir{
		path: path, cfg: cfg, watchdog: newWatchdog(cfg), replicas: replicaSet{},
		caches: &cacheShares{total: cfg.CacheBytes},
	}
	if err := d.open(); err != nil {
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	return d, nil
}

func (d *Dir) open() error {
	if err := makeDataDir(d.path); err != nil {
		return err
	}
	d.lock = flock.New(filepath.Join(d.path, lockFile), flock.SetPermissions(fileMode))
	locked, err := d.lock.TryLock()
	if err != nil {
		return fmt.Errorf("cannot be written: %w; check its owner and permissions, or choose another --data", err)
	}
	if !locked {
		return fmt.Errorf("%w; stop that process, or choose another --data", ErrLocked)
	}
	if err := d.load(); err != nil {
		return errors.Join(err, d.lock.Close())
	}
	return nil
}

func (d *Dir) load() (err error) {
	if d.space, err = newSpace(d.path, d.cfg.MinFree); err != nil {
		return err
	}
	if d.identity, err = loadIdentity(d.path, d.cfg.Node, d.cfg.Log); err != nil {
		return err
	}
	if d.logs, err = openLogs(d.path, d.identity.Log, d.cfg); err != nil {
		return err
	}
	if err := mkdirSynced(filepath.Join(d.path, groupsDir)); err != nil {
		return errors.Join(err, d.logs.Close())
	}
	return nil
}

func makeDataDir(path string) error {
	stat, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return mkdirSynced(path)
	}
	if err != nil {
		return fmt.Errorf("%w; choose another --data", err)
	}
	if !stat.IsDir() {
		return errors.New("is not a directory; choose another --data")
	}
	return nil
}

// Identity returns who the node is.
func (d *Dir) Identity() Identity {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.identity.clone()
}

// Form records, once and for ever, the cluster that the node belongs to and the
// members that formed it: node id to incarnation, this node among them. The same
// call again does nothing; another cluster or other members are ErrFormed.
func (d *Dir) Form(cluster string, members map[string]string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	formed, err := d.identity.formed(cluster, members)
	if err != nil || d.identity.Cluster != "" {
		return err
	}
	if err := formed.save(d.path); err != nil {
		return fmt.Errorf("form cluster %s: %w", cluster, err)
	}
	d.identity = formed
	return nil
}

// OpenReplica opens the node's replica of a group, and creates it if it is not
// there. Several generations of one group may be open, each of them once.
func (d *Dir) OpenReplica(group, generation uint64) (*Replica, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.replicas.open(ReplicaID{group, generation}, d.openFiles)
}

func (d *Dir) openFiles(id ReplicaID) (*Replica, error) {
	path := filepath.Join(d.path, groupsDir, id.String())
	if err := createReplicaFiles(path, id, d.logs); err != nil {
		return nil, err
	}
	return d.openReplicaFiles(path, id)
}

// Quarantine marks the group on this node as out of service, until the node is
// replaced. Of the reason, at most 4 KiB are kept. A later reason replaces it.
func (d *Dir) Quarantine(group uint64, reason string) error {
	if err := writeAtomic(d.quarantineFile(group), []byte(boundReason(reason))); err != nil {
		return fmt.Errorf("quarantine group %d: %w", group, err)
	}
	return nil
}

// Quarantined reports whether the group is marked as out of service, and why. A
// mark that cannot be read counts.
func (d *Dir) Quarantined(group uint64) (reason string, ok bool) {
	b, err := readBounded(d.quarantineFile(group), maxReason)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	if err != nil {
		return err.Error(), true
	}
	return string(b), true
}

func boundReason(reason string) string { return reason[:min(len(reason), maxReason)] }

func (d *Dir) quarantineFile(group uint64) string {
	return filepath.Join(d.path, groupsDir, strconv.FormatUint(group, 10)+quarantinedEnd)
}

// Stalled reports whether a write of any replica has taken longer than StallAfter
// and is still not done.
func (d *Dir) Stalled() bool { return d.watchdog.stalled() }

// WriteError returns the error of an open replica whose last write failed, nil if
// there is none. See [Replica.WriteError].
func (d *Dir) WriteError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.replicas.writeError()
}

// Close closes the replicas and gives the lock up. It waits for writes under way,
// on a hung disk for ever. It may be called again.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.replicas.close()
	d.watchdog.wait()
	return errors.Join(err, d.logs.Close(), d.lock.Close())
}
