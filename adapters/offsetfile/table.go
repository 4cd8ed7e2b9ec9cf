package offsetfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	troupe "github.com/troupe-mq/troupe/runtime"
)

// table is one group's file.
type table struct {
	dir, group string
	unlock     func() error

	offsets map[troupe.QueueKey]int64
	warning string
	// sound says that the file holds a version worth keeping as the backup.
	sound bool
}

// Saved gives what was found, and a warning if the backup had to be read.
func (t *table) Saved() (map[troupe.QueueKey]int64, string) { return t.offsets, t.warning }

// Save writes a new version next to the old one, which becomes the backup. Whenever it is interrupted, a complete version is left.
func (t *table) Save(_ context.Context, offsets map[troupe.QueueKey]int64) error {
	if err := writeSynced(t.path(tempName), encode(offsets)); err != nil {
		return fmt.Errorf("save offsets of group %s: %w", t.group, err)
	}
	if t.sound {
		if err := os.Rename(t.path(fileName), t.path(backupName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("save offsets of group %s: %w", t.group, err)
		}
		t.sound = false
	}
	if err := os.Rename(t.path(tempName), t.path(fileName)); err != nil {
		return fmt.Errorf("save offsets of group %s: %w", t.group, err)
	}
	t.sound = true
	syncDir(t.dir)
	return nil
}

// Close gives the folder free.
func (t *table) Close() error { return t.unlock() }

func (t *table) path(name string) string { return filepath.Join(t.dir, name) }

// load reads the file, or else its backup, and sees that a new version can be written.
func (t *table) load() error {
	if err := t.probe(); err != nil {
		return fmt.Errorf("offsets of group %s: the directory is not writable: %w", t.group, err)
	}
	offsets, fault := read(t.path(fileName))
	if fault == nil {
		t.offsets, t.sound = offsets, true
		return nil
	}
	backup, backupFault := read(t.path(backupName))
	missing, backupMissing := errors.Is(fault, fs.ErrNotExist), errors.Is(backupFault, fs.ErrNotExist)
	switch {
	case backupFault == nil:
		t.offsets = backup
		t.warning = fmt.Sprintf("%s: %v: going on with its backup, which may be a little older", t.path(fileName), fault)
		return nil
	case missing && backupMissing:
		return nil
	default:
		return &DamagedError{
			Group: t.group, Path: t.path(fileName), Backup: t.path(backupName), PathFault: fault, BackupFault: backupFault,
		}
	}
}

func (t *table) probe() error {
	if err := writeSynced(t.path(tempName), nil); err != nil {
		return err
	}
	return os.Remove(t.path(tempName))
}

func read(path string) (map[troupe.QueueKey]int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return decode(text)
}

func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes renames last; where directories cannot be synced, the file system looks after that itself.
func syncDir(dir string) {
	if runtime.GOOS == "windows" {
		return
	}
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
