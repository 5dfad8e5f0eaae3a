package acp

import (
	"context"

	sdk "github.com/coder/acp-go-sdk"
)

// keyMethod is the only way to authenticate: the person sets a key in the environment of the agent.
const keyMethod = "key"

func (c *connection) initialize(_ context.Context, p sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	c.mu.Lock()
	c.client = &p
	c.mu.Unlock()
	r := sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		AgentInfo:       &sdk.Implementation{Name: "stet", Version: c.config.Version},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			McpCapabilities:    sdk.McpCapabilities{Http: true, Sse: true},
			PromptCapabilities: sdk.PromptCapabilities{EmbeddedContext: true, Image: c.config.Image != nil},
			SessionCapabilities: sdk.SessionCapabilities{
				Close: &sdk.SessionCloseCapabilities{}, List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{},
			},
		},
		AuthMethods: []sdk.AuthMethod{},
	}
	if err := c.config.ready(); err != nil {
		what := err.Error()
		r.AuthMethods = append(r.AuthMethods, sdk.AuthMethod{Agent: &sdk.AuthMethodAgent{
			Id: keyMethod, Name: "Key of the model's provider", Description: &what,
		}})
	}
	return r, nil
}

func (c *connection) authenticate(_ context.Context, p sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	if p.MethodId != keyMethod {
		return sdk.AuthenticateResponse{}, wrong("there is no way %q to authenticate", p.MethodId)
	}
	return sdk.AuthenticateResponse{}, c.needReady()
}

// needReady returns an error if something is missing before a model can be asked.
func (c *connection) needReady() error {
	if err := c.config.ready(); err != nil {
		return worded(sdk.NewAuthRequired, err.Error())
	}
	return nil
}
