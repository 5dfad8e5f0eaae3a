package main

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/llm"
)

// images are the kinds of images that models take.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// imagePart makes parts of images in the wire format of the model that is asked
// for; nil where that one takes none.
func (c *command) imagePart() func(mime, data string) (llm.Part, bool) {
	s, err := c.settings("")
	if err != nil {
		return nil
	}
	o, err := c.modelOptions(s)
	if err != nil || o.api == "" {
		return nil
	}
	return func(mime, data string) (llm.Part, bool) {
		if _, err := base64.StdEncoding.DecodeString(data); err != nil || !slices.Contains(images, mime) {
			return llm.Part{}, false
		}
		return imageIn(o.api, mime, data)
	}
}

// imageIn is an image as a wire format has it.
func imageIn(api, mime, data string) (llm.Part, bool) {
	type object = map[string]any
	url := "data:" + mime + ";base64," + data
	said := object{"type": "image_url", "image_url": object{"url": url}}
	switch api {
	case config.APIMessages:
		said = object{"type": "image", "source": object{"type": "base64", "media_type": mime, "data": data}}
	case config.APIResponses:
		said = object{"type": "input_image", "image_url": url}
	}
	raw, err := json.Marshal(said)
	return llm.Part{Kind: llm.Opaque, Raw: string(raw)}, err == nil
}
