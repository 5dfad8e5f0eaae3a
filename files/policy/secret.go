package policy

import (
	"path"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

// secrets lists files that hold keys, passwords or tokens, by their names, as patterns. Most names are from two collections of
// files that leak: github.com/Plazmaz/leaky-repo and config.yaml in github.com/eth0izzle/shhgit. The others are those under which
// the documentation of the programs named here stores them. Names that are common for other things, as config.php, are left out.
var secrets = []string{
	// The environment of programs, and what a deployment is told. dotenv, act, Google's client libraries, Terraform, Rails,
	// wrangler, ASP.NET, Ansible, Vault.
	".env{,[._~-]*}", "*.env", "{,.}secret{,s}.{yml,yaml,json,toml,ini,properties,xml,env}", ".secret{,s}", "*.secret",
	"{,.}credentials{,.json,.yml,.yaml,.xml,.toml,.ini,.csv,.txt,.db}", "*[._-]credentials.json", "client_secret*.json", "service[._-]account*.json", "serviceaccount*.json",
	"*firebase-adminsdk*.json", "token.{json,pickle}", ".token", "auth.json", "*.tfvars{,.json}", "*.tfstate{,.*}", "credentials.tfrc.json", ".terraformrc", "secret_token.rb",
	".dev.vars{,.*}", "**/UserSecrets/**", ".vault-token", ".vault[_-]pass{,word}{,.txt}", "{heroku,robomongo,deployment-config,sftp-config}.json", "mongoid.yml",

	// Private keys, and stores of keys.
	"*.{key,pem,ppk,p8,p12,pkcs12,pfx,jks,keystore,bks,keychain,keychain-db,keyring,kdb,kdbx,psafe3,agilekeychain,gnucash,ovpn,agekey}",
	"id_{rsa,dsa,ecdsa,ed25519}{,_sk}{,.*}", "*_{rsa,dsa,ecdsa,ed25519}", "otr.private_key", "**/.{ssh,gnupg}/**", "**/age/keys.txt",

	// What programs log in with: curl, databases, package managers, git, containers, clouds, mail and file transfer.
	"{.,_}netrc", ".authinfo{,.gpg}", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".npmrc", ".pypirc", "**/.m2/settings{,-security}.xml", ".git-credentials",
	".dockercfg", ".dockerconfigjson", "**/.docker/config.json", "**/.kube/config", "{,*.}kubeconfig", "**/.aws/{credentials,config}", "**/.{azure,oci}/**",
	"**/.config/{gcloud,gh,hub,glab-cli,doctl,op}/**", ".databrickscfg", ".s3cfg", ".boto", ".tugboat", ".ftpconfig", ".remote-sync.json", "**/.vscode/sftp.json",
	".{ht,}passwd", ".htdigest", ".{esmtp,msmtp,mutt,fetchmail}rc", "**/.vnc/passwd", "{filezilla,recentservers,dbeaver-data-sources,WebServers}.xml", "proftpdpasswd",
	"ventrilo_srv.ini", "wp-config.php",

	// Passwords of the system and of browsers, stores of passwords, and what was typed.
	"{gshadow,master.passwd,shadow-,gshadow-}", "**/etc/shadow", "**/.password-store/**", "**/{share/keyrings,Library/Keychains}/**", "logins.json", "key{3,4}.db", "Login Data", "cookies{,.sqlite}",
	"{,.}passwords{,.txt,.csv,.json}", ".*_history",
}

// open lists what has such a name and is meant to be read: examples, public keys, certificates.
var open = []string{
	"*[._-]{example,sample,template,tmpl,tpl}{,.*}", "{example,sample,template}.*", "*.dist", ".env{,.*}.{default,defaults,schema,spec}", "*.{md,rst,adoc}",
	"**/{locale,locales,lang,i18n,translations}/**/*.{json,yml,yaml}", // texts of a program, by its pages
	"*.pub{,.pem}", "{,*[._-]}{public,pub,ca,cacert,ca-cert,ca-bundle,chain,fullchain,cert}.pem", "**/.ssh/{known_hosts,authorized_keys}",
}

// names are patterns of a table, compiled. Letter case and Unicode composition do not matter, because the file system may ignore them.
type names struct {
	whole map[string]bool // names without signs, in lower case
	some  []folded
}

// compileNames panics if a pattern is not valid, which a test would show.
func compileNames(patterns []string) *names {
	n := &names{whole: map[string]bool{}}
	for _, pattern := range patterns {
		alternatives, err := braces(pattern)
		for _, a := range alternatives {
			if !strings.ContainsAny(a, `*?[\/`) {
				n.whole[strings.ToLower(a)] = true
				continue
			}
			if a, err = expression(a); err != nil {
				break
			}
			n.some = append(n.some, fold(a))
		}
		if err != nil {
			panic(pattern + ": " + err.Error())
		}
	}
	return n
}

// has reports whether a pattern of the table matches the path.
func (n *names) has(p string) bool {
	p = norm.NFC.String(p)
	lower := strings.ToLower(p)
	return n.whole[path.Base(lower)] || matchFolded(n.some, p, lower)
}

var (
	secretNames = sync.OnceValue(func() *names { return compileNames(secrets) })
	openNames   = sync.OnceValue(func() *names { return compileNames(open) })
)

// Secret reports whether a file may hold keys, passwords or tokens, by its name. The path is relative to the workspace, with links
// resolved.
func Secret(path string) bool { return secretNames().has(path) && !openNames().has(path) }
