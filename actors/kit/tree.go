package kit

import (
	"slices"
	"strings"
	"sync"
)

// tree is who lives and whose child it is. An actor is in it until its parent has been told of its end.
type tree struct {
	mu    sync.RWMutex
	roots []*cell
	shut  bool // no more roots
}

// siblings is the list that the children of parent are in; parent is nil for roots. The caller holds mu.
func (t *tree) siblings(parent *cell) *[]*cell {
	if parent == nil {
		return &t.roots
	}
	return &parent.children
}

// add panics if the name is taken. It answers false, and adds nothing, if c is a root and no more are let in.
func (t *tree) add(c *cell) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.parent == nil && t.shut {
		return false
	}
	list := t.siblings(c.parent)
	if slices.ContainsFunc(*list, func(o *cell) bool { return o.id == c.id }) {
		panic("kit: " + c.id + " is there already")
	}
	*list = append(*list, c)
	return true
}

func (t *tree) remove(c *cell) { t.take(c.parent, c.id) }

// take removes the child of that path and gives it, or nil.
func (t *tree) take(parent *cell, id string) *cell {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.siblings(parent)
	i := slices.IndexFunc(*list, func(o *cell) bool { return o.id == id })
	if i < 0 {
		return nil
	}
	c := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return c
}

func (t *tree) child(parent *cell, name string) *cell {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := *t.siblings(parent)
	if i := slices.IndexFunc(list, func(o *cell) bool { return o.spec.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}

func (t *tree) childRefs(parent *cell) []Ref {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := *t.siblings(parent)
	refs := make([]Ref, len(list))
	for i, c := range list {
		refs[i] = Ref{c}
	}
	return refs
}

// find looks an actor up by its path.
func (t *tree) find(path string) *cell {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := t.roots
	for {
		i := slices.IndexFunc(list, func(c *cell) bool {
			return strings.HasPrefix(path, c.id) && (len(path) == len(c.id) || path[len(c.id)] == '/')
		})
		if i < 0 {
			return nil
		}
		found := list[i]
		if found.id == path {
			return found
		}
		list = found.children
	}
}

// all lists every actor, parents before children, siblings in the order of spawning.
func (t *tree) all() []*cell {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var list []*cell
	var walk func([]*cell)
	walk = func(cells []*cell) {
		for _, c := range cells {
			list = append(list, c)
			walk(c.children)
		}
	}
	walk(t.roots)
	return list
}

// close lets no more roots in and gives those that are.
func (t *tree) close() []*cell {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shut = true
	return slices.Clone(t.roots)
}
