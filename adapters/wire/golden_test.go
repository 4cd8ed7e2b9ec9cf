package wire_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"sync"
)

// goldenFrame is one line of the manifest: what Apache's own decoder made of a captured frame.
type goldenFrame struct {
	File         string            `json:"file"`
	Name         string            `json:"name"`
	RequestCode  int32             `json:"requestCode"`
	Direction    string            `json:"direction"`
	HeaderFormat string            `json:"headerFormat"`
	Code         int32             `json:"code"`
	Language     string            `json:"language"`
	Version      int32             `json:"version"`
	Opaque       int32             `json:"opaque"`
	Flag         int32             `json:"flag"`
	OneWay       bool              `json:"oneway"`
	Remark       string            `json:"remark"`
	ExtFields    map[string]string `json:"extFields"`
	FrameLen     int               `json:"frameLen"`
	BodyLen      int               `json:"bodyLen"`
	BodySha1     string            `json:"bodySha1"`
	BodyKind     string            `json:"bodyKind"`
	BodyText     string            `json:"bodyText"`
	Messages     []goldenMessage   `json:"messages"`
	Stored       []struct {
		ID       string `json:"msgId"`
		SysFlag  int32  `json:"sysFlag"`
		BodyLen  int    `json:"storedBodyLen"`
		BodySha1 string `json:"storedBodySha1"`
	} `json:"messagesNotDecompressed"`
	Properties map[string]string `json:"decodedProperties"`

	bytes []byte
}

// request tells whether the frame asks.
func (f *goldenFrame) request() bool { return strings.HasSuffix(f.Direction, "request") }

type goldenMessage struct {
	Topic           string            `json:"topic"`
	QueueID         int32             `json:"queueId"`
	QueueOffset     int64             `json:"queueOffset"`
	CommitLogOffset int64             `json:"commitLogOffset"`
	StoreSize       int               `json:"storeSize"`
	ID              string            `json:"msgId"`
	OffsetID        string            `json:"offsetMsgId"`
	Flag            int32             `json:"flag"`
	SysFlag         int32             `json:"sysFlag"`
	BodyCRC         uint32            `json:"bodyCRC"`
	BodyLen         int               `json:"bodyLen"`
	BodySha1        string            `json:"bodySha1"`
	BodyHex         string            `json:"bodyHex"`
	BornTimestamp   int64             `json:"bornTimestamp"`
	StoreTimestamp  int64             `json:"storeTimestamp"`
	BornHost        string            `json:"bornHost"`
	StoreHost       string            `json:"storeHost"`
	ReconsumeTimes  int32             `json:"reconsumeTimes"`
	Prepared        int64             `json:"preparedTransactionOffset"`
	Tags            string            `json:"tags"`
	Keys            string            `json:"keys"`
	TagsCode        int64             `json:"tagsCode"`
	Properties      map[string]string `json:"properties"`
}

// goldenFrames reads the frames that were captured from brokers and clients of Apache RocketMQ 4.9.7, 5.3.3 and 5.5.0.
var goldenFrames = sync.OnceValue(func() []*goldenFrame {
	f, err := os.Open("testdata/golden/frames.tar.gz")
	must(err)
	defer func() { must(f.Close()) }()
	z, err := gzip.NewReader(f)
	must(err)
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(err)
		b, err := io.ReadAll(r)
		must(err)
		files[path.Clean(h.Name)] = b
	}
	var frames []*goldenFrame
	must(json.Unmarshal(files["manifest.json"], &frames))
	for _, g := range frames {
		g.bytes = files[g.File]
	}
	return frames
})

// golden finds the frames of a request code.
func golden(code int32, request bool) []*goldenFrame {
	var found []*goldenFrame
	for _, f := range goldenFrames() {
		if f.RequestCode == code && f.request() == request {
			found = append(found, f)
		}
	}
	return found
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
