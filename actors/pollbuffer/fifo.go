package pollbuffer

// fifo is a queue in one slice, which it uses again and again.
type fifo[T comparable] struct {
	items []T
	gone  int
}

func (f *fifo[T]) len() int { return len(f.items) - f.gone }

// all gives what is there, oldest first, until something is added or taken.
func (f *fifo[T]) all() []T { return f.items[f.gone:] }

func (f *fifo[T]) add(item T) {
	if f.gone > 0 && len(f.items) == cap(f.items) && f.gone >= len(f.items)/2 {
		f.keep(f.all())
	}
	f.items = append(f.items, item)
}

// take gives the oldest.
func (f *fifo[T]) take() (item T) {
	var none T
	item, f.items[f.gone] = f.items[f.gone], none
	f.gone++
	if f.gone == len(f.items) {
		f.items, f.gone = f.items[:0], 0
	}
	return item
}

// keep replaces what is there by a part of it, or by nothing.
func (f *fifo[T]) keep(rest []T) {
	n := copy(f.items, rest)
	clear(f.items[n:])
	f.items, f.gone = f.items[:n], 0
}

// remove takes an item out, wherever it is.
func (f *fifo[T]) remove(item T) {
	rest := f.items[f.gone:]
	n := 0
	for _, other := range rest {
		if other != item {
			rest[n] = other
			n++
		}
	}
	clear(rest[n:])
	f.items = f.items[:f.gone+n]
}
