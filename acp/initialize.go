package acp

import (
	"context"

	sdk "github.com/coder/acp-go-sdk"
)

// keyMethod is the only way to authenticate: the person sets a key where the
// agent is started.
const keyMethod = "key"

func (l *link) initialize(_ context.Context, p sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	l.mu.Lock()
	l.client = &p
	l.mu.Unlock()
	r := sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		AgentInfo:       &sdk.Implementation{Name: "stet", Version: l.config.Version},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			McpCapabilities:    sdk.McpCapabilities{Http: true, Sse: true},
			PromptCapabilities: sdk.PromptCapabilities{EmbeddedContext: true, Image: l.config.Image != nil},
			SessionCapabilities: sdk.SessionCapabilities{
				Close: &sdk.SessionCloseCapabilities{}, List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{},
			},
		},
		AuthMethods: []sdk.AuthMethod{},
	}
	if err := l.config.ready(); err != nil {
		what := err.Error()
		r.AuthMethods = append(r.AuthMethods, sdk.AuthMethod{Agent: &sdk.AuthMethodAgent{
			Id: keyMethod, Name: "Key of the model's provider", Description: &what,
		}})
	}
	return r, nil
}

func (l *link) authenticate(_ context.Context, p sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	if p.MethodId != keyMethod {
		return sdk.AuthenticateResponse{}, wrong("there is no way %q to authenticate", p.MethodId)
	}
	return sdk.AuthenticateResponse{}, l.needReady()
}

// needReady says what is missing before a model can be asked.
func (l *link) needReady() error {
	if err := l.config.ready(); err != nil {
		return worded(sdk.NewAuthRequired, err.Error())
	}
	return nil
}
