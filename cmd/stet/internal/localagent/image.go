package localagent

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/llm"
)

// images are the kinds of images that models take.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// Image makes a part of an image in the wire format of the model; false if the model does not accept it.
func (m Model) Image(mime, data string) (llm.Part, bool) {
	if _, err := base64.StdEncoding.DecodeString(data); err != nil || !slices.Contains(images, mime) {
		return llm.Part{}, false
	}
	return imageIn(m.API, mime, data)
}

// imageIn returns an image in a wire format.
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
