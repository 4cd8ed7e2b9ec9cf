package messages

// HasTag tells whether the message's tag is one of tags; it does not allocate.
func (m *Message) HasTag(tags []string) bool {
	tag := findProperty(m.GetRawProperties(), PropertyTags)
	if len(tag) == 0 {
		return false
	}
	for _, t := range tags {
		if string(tag) == t {
			return true
		}
	}
	return false
}
