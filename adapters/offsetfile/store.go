package offsetfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	troupe "github.com/troupe-mq/troupe/runtime"
)

// Names of the files of one group, as the Java client calls them; the lock is ours.
const (
	fileName   = "offsets.json"
	backupName = "offsets.json.bak"
	tempName   = "offsets.json.tmp"
	lockName   = "offsets.lock"
)

// Limits of file systems, in bytes: of one name, and of a whole path.
const (
	maxName = 255
	maxPath = 4095
)

// Store is a directory with a folder for each group. It implements troupe.OffsetStore.
type Store struct {
	field string
	dir   string
}

var _ troupe.OffsetStore = (*Store)(nil)

// At keeps offsets below a directory, which is made when it is first needed. Choose one that outlives the program, in a
// container a mounted volume: a member that finds no offsets begins where ConsumeFrom says. Members do not share a directory.
func At(dir string) *Store { return &Store{field: "offsetfile.At", dir: dir} }

// Java keeps offsets where the Java client with this id does: ~/.rocketmq_offsets/<clientID>. By default that client's id is
// its IP address followed by @DEFAULT, such as "10.0.0.7@DEFAULT". If it runs with -Drocketmq.client.localOffsetStoreDir=DIR, use
// At(DIR + "/" + clientID) instead.
func Java(clientID string) *Store {
	s := &Store{field: "offsetfile.Java"}
	if home, err := os.UserHomeDir(); err == nil && clientID != "" {
		s.dir = filepath.Join(home, ".rocketmq_offsets", clientID)
	}
	return s
}

// Dir is the directory.
func (s *Store) Dir() string { return s.dir }

// Open locks the group's folder and reads what is saved there. Impossible paths are a *troupe.ConfigError; a *DamagedError says that
// neither the file nor its backup can be read, a *LockedError that another process has the folder.
func (s *Store) Open(_ context.Context, group string) (troupe.OffsetTable, error) {
	dir, err := s.folder(group)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("offsets of group %s: the directory cannot be made: %w", group, err)
	}
	unlock, err := lock(filepath.Join(dir, lockName))
	if errors.Is(err, errLocked) {
		return nil, &LockedError{Group: group, Path: filepath.Join(dir, lockName)}
	}
	if err != nil {
		return nil, fmt.Errorf("offsets of group %s: %w", group, err)
	}
	t := &table{dir: dir, group: group, unlock: unlock}
	if err := t.load(); err != nil {
		_ = t.Close()
		return nil, err
	}
	return t, nil
}

// folder gives the group's folder if its path is a possible one.
func (s *Store) folder(group string) (string, error) {
	fault := func(reason string) (string, error) {
		return "", &troupe.ConfigError{Field: s.field, Value: s.dir, Reason: reason}
	}
	if s.dir == "" {
		return fault("must not be empty: name the directory that keeps the offsets")
	}
	dir, err := filepath.Abs(filepath.Join(s.dir, group))
	if err != nil {
		return fault(err.Error())
	}
	for name := range strings.SplitSeq(filepath.ToSlash(dir), "/") {
		if len(name) > maxName {
			return fault(fmt.Sprintf("has a name of %d bytes in its path: file systems allow %d", len(name), maxName))
		}
	}
	if n := len(filepath.Join(dir, backupName)); n > maxPath {
		return fault(fmt.Sprintf("makes a path of %d bytes for group %s: %d are allowed", n, group, maxPath))
	}
	return dir, nil
}

// DamagedError says that offsets were saved, but neither the file nor its backup can be read.
type DamagedError struct {
	Group, Path, Backup string
	// PathFault and BackupFault say what is wrong with each.
	PathFault, BackupFault error
}

// Error names both files, what is wrong with them, and what to do.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("offsets of group %s are damaged: %s: %v; %s: %v: restore one of the files, or remove both to begin where "+
		"ConsumeFrom says", e.Group, e.Path, e.PathFault, e.Backup, e.BackupFault)
}

// Unwrap gives both faults.
func (e *DamagedError) Unwrap() []error { return []error{e.PathFault, e.BackupFault} }

// LockedError says that another Runtime, in this process or another, uses a group's offsets.
type LockedError struct{ Group, Path string }

// Error says what to do.
func (e *LockedError) Error() string {
	return fmt.Sprintf("offsets of group %s are in use by another member (%s is locked): give each member a directory of its own",
		e.Group, e.Path)
}
