package policy_test

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
)

// FILE-13: what holds keys, passwords or tokens is a secret, in any letter case. Examples, public keys and sources are none.
func TestSecret(t *testing.T) {
	for want, paths := range map[bool]string{
		true: `.env .ENV web/.env .env.local .env.production .env.test prod.env id_rsa .ssh/id_ed25519 .ssh/config .ssh/id_rsa id_ecdsa_sk deploy_rsa
			server.key tls/server.pem a.p12 a.pfx a.jks vault.kdbx key.ppk client.ovpn .aws/credentials root/.aws/config .netrc _netrc .npmrc .pypirc .pgpass
			.git-credentials .docker/config.json .kube/config .config/gcloud/x.json .azure/x credentials.json credentials .credentials secrets.yml secrets.yaml
			config/master.key config/credentials/production.key terraform.tfvars terraform.tfstate terraform.tfstate.backup .htpasswd etc/shadow x/etc/shadow-
			.password-store/mail.gpg logins.json .bash_history service-account-prod.json client_secret_1.json aws-credentials.json .vault-token .dev.vars
			kubeconfig prod.kubeconfig auth.json .gnupg/secring.gpg wp-config.php .m2/settings.xml
			.env~ .env-prod .env_local .local/share/keyrings/login.keyring Library/Keychains/a.db`,
		false: `.env.example .env.sample .env.template .env.dist .env.defaults .env.local.example .env.example.local example.env id_rsa.pub .ssh/id_ed25519.pub
			.ssh/known_hosts .ssh/authorized_keys ca.pem certs/fullchain.pem public.pem a.crt a.cer .envrc env.go env .environment credentials.go secrets.go
			credentials_test.py secret/k secrets/x.go internal/secrets/store.go docs/secrets.md .github/x.md key.go keys.json package.json .ssh config.json
			.docker/Dockerfile credentials.json.example secrets.example.yml terraform.tfvars.example tokens.json shadow cookies.go main.tf
			etc/passwd .gitignore README.md .env-example .env_sample public/locales/en/auth.json lang/de/passwords.json internal/keyrings/a.go keychains/store.swift`,
	} {
		for path := range strings.FieldsSeq(paths) {
			if policy.Secret(path) != want {
				t.Errorf("%s: secret %v, want %v", path, !want, want)
			}
		}
	}
}

// FILE-13: before a call shows a secret, a person is asked each time. Rules and grants do not change that. If no person can be asked,
// the call is refused. A listing of names needs no question, and a new secret is written like any file.
func TestSecretsAreAsked(t *testing.T) {
	all := []policy.Rule{{Do: policy.Allow}}
	for _, c := range []struct {
		tool    string
		write   bool
		secrets policy.Action
		want    policy.Action
	}{
		{"Read", false, policy.Ask, policy.Ask},
		{"read_file", false, policy.Ask, policy.Ask},
		{"search_text", false, policy.Ask, policy.Ask},
		{"edit_file", true, policy.Ask, policy.Ask}, // its result shows the lines around
		{"edit_file", false, policy.Ask, policy.Ask},
		{"write_file", false, policy.Ask, policy.Ask}, // it failed, or would change nothing
		{"other", false, policy.Ask, policy.Ask},
		{"list_files", false, policy.Ask, policy.Allow},
		{"find_files", false, policy.Ask, policy.Allow},
		{"file_info", false, policy.Ask, policy.Allow},
		{"write_file", true, policy.Ask, policy.Allow},
		{"undo", true, policy.Ask, policy.Allow},
		{"Read", false, policy.Allow, policy.Allow},
		{"Read", false, policy.Deny, policy.Deny},
	} {
		r := policy.Request{Tool: c.tool, Path: "a/.env", Write: c.write, Grants: all}
		p := policy.Policy{Rules: all, Secrets: c.secrets}
		d := p.Decide(r)
		if d.Action != c.want || d.Grantable || d.Relay {
			t.Errorf("%s, secrets %v: %+v", c.tool, c.secrets, d)
		}
		if c.want == policy.Deny && strings.Contains(d.Why, "no person") {
			t.Errorf("%s", d.Why)
		}
		unattended := p
		unattended.Unattended = true
		r.NoPerson = true
		for _, d := range []policy.Decision{p.Decide(r), unattended.Decide(r)} {
			if (d.Action == policy.Allow) != (c.want == policy.Allow) || d.Action == policy.Ask {
				t.Errorf("%s, secrets %v, nobody: %+v", c.tool, c.secrets, d)
			}
		}
		r.Path = "a/.env.example"
		if d := p.Decide(r); d.Action != policy.Allow {
			t.Errorf("%s of an example: %+v", c.tool, d)
		}
	}
	// A tool of an MCP server has no path in the workspace.
	if d := (&policy.Policy{}).Decide(policy.Request{Tool: "read", Path: ".env", Notes: []tool.Note{tool.Outside}}); d.Action != policy.Allow {
		t.Errorf("outside: %+v", d)
	}
}
