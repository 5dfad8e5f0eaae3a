package acp

import (
	"context"

	sdk "github.com/coder/acp-go-sdk"
)

// The modes of a session. A mode never allows more than policy does: a change that cannot be granted for a session (control
// files, executables) is asked about in every mode.
const (
	modeAsk    sdk.SessionModeId = "ask"
	modeAccept sdk.SessionModeId = "accept-edits"
	modeRead   sdk.SessionModeId = "read-only"
)

// modes returns the modes of a session.
func (c *connection) modes(s *session) *sdk.SessionModeState {
	mode := func(id sdk.SessionModeId, name, about string) sdk.SessionMode {
		return sdk.SessionMode{Id: id, Name: name, Description: &about}
	}
	all := []sdk.SessionMode{mode(modeAsk, "Ask", "Every change is shown before it is made, but for what your rules allow")}
	if c.config.Relays {
		all = append(all, mode(modeAccept, "Accept edits", "Changes to ordinary files are made without asking; files that make something run are asked about"))
	}
	all = append(all, mode(modeRead, "Read only", "Nothing is changed, whatever your rules allow"))
	return &sdk.SessionModeState{AvailableModes: all, CurrentModeId: s.currentMode()}
}

func (s *session) currentMode() sdk.SessionModeId {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

func (c *connection) setMode(_ context.Context, p sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	s, err := c.opened(p.SessionId)
	if err != nil {
		return sdk.SetSessionModeResponse{}, err
	}
	for _, m := range c.modes(s).AvailableModes {
		if m.Id == p.ModeId {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.mode = m.Id
			return sdk.SetSessionModeResponse{}, nil
		}
	}
	return sdk.SetSessionModeResponse{}, wrong("there is no mode %q", p.ModeId)
}
