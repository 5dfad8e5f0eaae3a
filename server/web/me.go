package web

import (
	"maps"
	"net/http"
	"slices"

	"github.com/stet-dev/stet/session"
)

// Me describes the person and the available views.
type Me struct {
	Person   string    `json:"person"`
	Version  string    `json:"version"`
	Root     string    `json:"root,omitempty"` // the workspace of the questions, for programs on this machine
	Buttons  bool      `json:"buttons"`        // messages have buttons that answer questions
	Push     bool      `json:"push"`           // this server sends messages to browsers
	Sessions bool      `json:"sessions"`       // sessions are stored
	Live     bool      `json:"live"`           // and can be followed
	Compact  bool      `json:"compact"`
	Records  bool      `json:"records"` // requests are recorded
	Trail    bool      `json:"trail"`   // there is an audit trail
	TakeBack bool      `json:"take_back"`
	Formats  []string  `json:"formats"` // that sessions can be exported in
	Settings []Setting `json:"settings"`
}

// Setting is a setting of the server.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
}

func (h *Handler) me(r *http.Request) (any, error) {
	p := callerOf(r.Context()).person
	out := Me{Person: p.Name, Version: h.Version, Buttons: h.Buttons, Push: h.Push != nil, Formats: []string{}, Settings: []Setting{}}
	if callerOf(r.Context()).channel == nil {
		out.Root = h.Root
	}
	if !p.Admin {
		return out, nil // the rest is not for an approver
	}
	out.Compact, out.Sessions, out.Live = h.Compact != nil, h.Sessions != nil, h.live()
	out.Records, out.Trail, out.TakeBack = h.Records != nil, h.Trail != nil, h.TakeBack != nil
	out.Formats = slices.Sorted(maps.Keys(session.Formats))
	if h.Settings != nil {
		out.Settings = append(out.Settings, h.Settings()...)
	}
	return out, nil
}
