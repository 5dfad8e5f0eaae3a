package llm

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// Image is an image in a wire format: its bytes, or its URL.
type Image struct {
	MediaType string // of Data: "image/png"
	Data      string // base64
	URL       string // http or https, if there is no Data
}

// ImageOf reads the image in an opaque part of any wire format. It returns false if raw is no image, or an image that only its own
// provider can load.
func ImageOf(raw string) (Image, bool) {
	var said struct {
		Type   string
		Source struct {
			MediaType string `json:"media_type"`
			Data, URL string
		}
		ImageURL json.RawMessage `json:"image_url"`
		Data     string
		MimeType string
	}
	if json.Unmarshal([]byte(raw), &said) != nil {
		return Image{}, false
	}
	var i Image
	switch said.Type {
	case "image":
		if i = (Image{said.Source.MediaType, said.Source.Data, said.Source.URL}); i == (Image{}) {
			i = Image{MediaType: said.MimeType, Data: said.Data}
		}
	case "image_url", "input_image":
		var within struct{ URL string }
		if json.Unmarshal(said.ImageURL, &i.URL) != nil && json.Unmarshal(said.ImageURL, &within) == nil {
			i.URL = within.URL
		}
		if head, data, ok := strings.Cut(i.URL, ";base64,"); ok && strings.HasPrefix(head, "data:") {
			i = Image{MediaType: strings.TrimPrefix(head, "data:"), Data: data}
		}
	}
	return i, i.whole()
}

func (i Image) whole() bool {
	if i.Data == "" {
		return strings.HasPrefix(i.URL, "https://") || strings.HasPrefix(i.URL, "http://")
	}
	_, err := base64.StdEncoding.DecodeString(i.Data)
	return err == nil && strings.HasPrefix(i.MediaType, "image/")
}

// Link returns the URL of the image. If the image has Data, it is a data URL.
func (i Image) Link() string {
	if i.Data == "" {
		return i.URL
	}
	return "data:" + i.MediaType + ";base64," + i.Data
}

// InWords returns a text in place of an opaque part of type typ: the text of a refusal, or a note that a part was left out.
func InWords(raw, typ string) Part {
	var said struct{ Refusal string }
	switch {
	case typ == "refusal" && json.Unmarshal([]byte(raw), &said) == nil && strings.TrimSpace(said.Refusal) != "":
		return Part{Text: said.Refusal}
	case typ == "":
		return Part{Text: "[left out: a part that this model's API has no word for]"}
	}
	return Part{Text: fmt.Sprintf("[left out: a part of type %.64s that this model's API has no word for]", typ)}
}
