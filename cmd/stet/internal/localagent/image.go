package localagent

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/stet-dev/stet/llm"
)

// images are the kinds of images that models take.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// Image makes a part of an image; false if models do not accept it. Every codec writes the image as its API has it.
func (m Model) Image(mime, data string) (llm.Part, bool) {
	if _, err := base64.StdEncoding.DecodeString(data); err != nil || !slices.Contains(images, mime) {
		return llm.Part{}, false
	}
	type object = map[string]any
	raw, err := json.Marshal(object{"type": "image", "source": object{"type": "base64", "media_type": mime, "data": data}})
	return llm.Part{Kind: llm.Opaque, Raw: string(raw)}, err == nil
}
