package wire

// headerReader walks all ext fields once and fills a header with them; the first malformed field ends it.
type headerReader struct {
	scan   extScan
	fields []extField
	name   []byte
	value  jsonText
	seen   uint32
	err    error
}

func (e *Ext) reader() headerReader {
	if e.raw == nil {
		return headerReader{fields: e.fields}
	}
	return headerReader{scan: e.scan()}
}

// next steps to the next field.
func (s *headerReader) next() bool {
	if s.err != nil {
		return false
	}
	if s.scan.r.b == nil {
		if len(s.fields) == 0 {
			return false
		}
		f := &s.fields[0]
		s.fields = s.fields[1:]
		s.name, s.value = []byte(f.key), jsonText{b: []byte(f.value()), quoted: true}
		return true
	}
	if !s.scan.next() {
		return false
	}
	s.name, s.value = s.scan.key.b, s.scan.value
	if s.scan.key.escaped {
		s.name = unescape(s.name)
	}
	return true
}

// saw notes that a required field was there; i is its place in the arguments of finish.
func (s *headerReader) saw(i int) { s.seen |= 1 << i }

// finish reports the first malformed or missing field.
func (s *headerReader) finish(required ...string) error {
	if s.err != nil {
		return s.err
	}
	for i, name := range required {
		if s.seen&(1<<i) == 0 {
			return &FieldError{Field: name, Missing: true}
		}
	}
	return nil
}

func (s *headerReader) text(p *string) { *p = s.value.String() }

func (s *headerReader) bool(p *bool) { *p = equalFold(s.value.b, "true") }

func (s *headerReader) int64(p *int64) {
	v, ok := parseInt(s.value.b)
	if !ok {
		s.malformed()
		return
	}
	*p = v
}

func (s *headerReader) int32(p *int32) {
	v, ok := parseInt(s.value.b)
	if !ok || int64(int32(v)) != v {
		s.malformed()
		return
	}
	*p = int32(v)
}

func (s *headerReader) malformed() {
	s.err = &FieldError{Field: string(s.name), Value: s.value.String()}
}
