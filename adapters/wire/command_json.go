package wire

import (
	"fmt"
	"strconv"
)

// decodeJSON reads a JSON header; unknown keys are ignored, null values count as absent.
func (c *Command) decodeJSON(header []byte) error {
	r := jsonReader{b: header}
	c.Language = Java
	r.object(func(key jsonText) {
		if string(key.b) == "extFields" {
			c.decodeExt(&r)
			return
		}
		v := r.value()
		if v.null() || r.err != nil {
			return
		}
		switch string(key.b) {
		case "code":
			c.Code = headerInt(&r, "code", v)
		case "opaque":
			c.Opaque = headerInt(&r, "opaque", v)
		case "flag":
			c.Flag = headerInt(&r, "flag", v)
		case "version":
			c.Version = headerInt(&r, "version", v)
		case "language":
			c.Language = parseLanguage(v.b)
		case "remark":
			c.Remark = internRemark(v)
		}
	})
	r.end()
	if r.err != nil {
		return fmt.Errorf("header: %w", r.err)
	}
	return nil
}

// decodeExt checks the ext object once, so that later scans cannot fail, and keeps its bytes.
func (c *Command) decodeExt(r *jsonReader) {
	r.peek()
	start := r.i
	n := 0
	r.object(func(jsonText) {
		r.value()
		n++
	})
	if n > maxExtFields {
		r.fail(errExtFields)
	}
	if n > 0 && r.err == nil {
		c.Ext = Ext{raw: r.b[start:r.i:r.i]}
	}
}

func headerInt(r *jsonReader, name string, v jsonText) int32 {
	n, ok := parseInt(v.b)
	if !ok || int64(int32(n)) != n {
		r.fail(fmt.Errorf("%s is %q", name, v.b))
	}
	return int32(n)
}

// appendJSON writes the header as strict JSON, keys in alphabetical order as Java's encoder does.
func (c *Command) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(c.Code), 10)
	dst = c.Ext.appendJSON(dst)
	dst = append(dst, `,"flag":`...)
	dst = strconv.AppendInt(dst, int64(c.Flag), 10)
	dst = append(dst, `,"language":"`...)
	if int(c.Language) < len(languageNames) {
		dst = append(dst, languageNames[c.Language]...)
	} else {
		dst = append(dst, languageNames[Other]...)
	}
	dst = append(dst, `","opaque":`...)
	dst = strconv.AppendInt(dst, int64(c.Opaque), 10)
	if c.Remark != "" {
		dst = append(dst, `,"remark":`...)
		dst = appendQuoted(dst, c.Remark)
	}
	dst = append(dst, `,"serializeTypeCurrentRPC":"JSON","version":`...)
	dst = strconv.AppendInt(dst, int64(c.Version), 10)
	return append(dst, '}')
}

func (e *Ext) appendJSON(dst []byte) []byte {
	if e.raw == nil && len(e.fields) == 0 {
		return dst
	}
	dst = append(dst, `,"extFields":{`...)
	start := len(dst)
	sep := func() {
		if len(dst) > start {
			dst = append(dst, ',')
		}
	}
	if e.raw != nil {
		for k, v := range e.All() {
			sep()
			dst = appendQuoted(dst, k)
			dst = append(dst, ':')
			dst = appendQuoted(dst, v)
		}
		return append(dst, '}')
	}
	for i := range e.fields {
		f := &e.fields[i]
		sep()
		dst = appendQuoted(dst, f.key)
		dst = append(dst, ':')
		if f.numeric {
			dst = append(dst, '"')
			dst = strconv.AppendInt(dst, f.number, 10)
			dst = append(dst, '"')
			continue
		}
		dst = appendQuoted(dst, f.text)
	}
	return append(dst, '}')
}
