package storage

import (
	"fmt"
	"os"
	"path/filepath"
)

// dirMode and fileMode keep values and keys from other users of the machine.
const (
	dirMode  = 0o700
	fileMode = 0o600
	tmpEnd   = ".tmp"
)

// writeAtomic puts a file in place so that a crash leaves the old one or the new
// one, and on return the new one outlives a crash.
func writeAtomic(path string, content []byte) error {
	tmp := path + tmpEnd
	if err := writeSynced(tmp, content); err != nil {
		return err
	}
	return renameSynced(tmp, path)
}

func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// renameSynced moves a file or directory to its place in the same directory.
func renameSynced(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

// mkdirSynced makes a directory whose name outlives a crash. It may be there already.
func mkdirSynced(path string) error {
	if err := os.MkdirAll(path, dirMode); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names in a directory outlive a crash.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync directory %s: %w", path, err)
	}
	return nil
}
