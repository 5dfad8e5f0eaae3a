package llm

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// Image is an image as a wire format holds it: its bytes, or where they are.
type Image struct {
	MediaType string // of Data: "image/png"
	Data      string // base64
	URL       string // http or https, where there is no Data
}

// ImageOf reads the image that an opaque part is, in whatever wire format; false
// if raw is none, or one that only its own provider can find.
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

// Link is the URL of the image; its bytes are in it where it has them.
func (i Image) Link() string {
	if i.Data == "" {
		return i.URL
	}
	return "data:" + i.MediaType + ";base64," + i.Data
}

// InWords returns in place of an opaque part a text: what a model said that
// refused, or that something was left out, which is of type typ.
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
