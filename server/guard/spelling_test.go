package guard

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/policy"
)

// removesHere are command lines that remove the directory x by rm -rf or what is like it. They do so on a machine with git, python, perl, node, make and tar;
// those of removesElsewhere need other programs, a terminal or another machine.
var removesHere = []string{
	// git runs what its settings say.
	`git -c alias.x='!rm -rf x' x`, `git -c alias.x="!rm -rf x" -C . x`, `git config alias.x '!rm -rf x' && git x`, `git config --local alias.y '!f() { rm -rf x; }; f'; git y`,
	`GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!rm -rf x' git x`, `A='!rm -rf x' git --config-env=alias.x=A x`, `printf '[alias]\nx = !rm -rf x\n' >> .git/config; git x`,

	`git -c core.editor='rm -rf x; true' commit --amend`, `GIT_EDITOR='rm -rf x' git commit --amend`, `EDITOR="rm -rf x" git commit --amend`, `git -c sequence.editor='rm -rf x' rebase -i HEAD`,
	`git -c core.sshCommand='rm -rf x;' fetch ssh://h/x`, `GIT_SSH_COMMAND='rm -rf x;' git fetch ssh://h/x`, `git -c core.fsmonitor='rm -rf x;' status`,
	`git -c diff.external='rm -rf x' diff HEAD~1 HEAD`, `GIT_EXTERNAL_DIFF='rm -rf x' git diff HEAD~1 HEAD`, `git rebase -x 'rm -rf x' HEAD~1`, `git rebase --exec='rm -rf x' HEAD~1`, `git rebase --exec "rm -rf x" HEAD~1`,
	`git difftool -y -x 'rm -rf x' HEAD~1 HEAD`, `git difftool -y --extcmd='rm -rf x' HEAD~1 HEAD`, `git fetch --upload-pack='rm -rf x;' .`, `git ls-remote --upload-pack='rm -rf x;' .`,
	`git clone -u 'rm -rf x;' . /nowhere/c`, `git -c protocol.ext.allow=always clone 'ext::sh -c rm% -rf% x' /nowhere/c`, `git grep -O'rm -rf x #' one`,
	`git grep --open-files-in-pager='rm -rf x #' one`, `git push --receive-pack='rm -rf x;' . HEAD`, `git -c core.hooksPath=hooks commit --allow-empty -m x`,
	`git submodule foreach 'rm -rf x'; rm -rf x`,
	// Words that are put together.
	`r""m -rf x`, `r''m -r""f x`, `\r\m -\r\f x`, `"rm" "-rf" x`, `$'\x72m' -rf x`, `$'rm' $'-rf' x`, `rm $'-\x72f' x`, `rm -r"f" x`, `rm -r$'f' x`, "r\\\nm -rf x", "rm \\\n  -rf \\\n x", "rm -r\\\nf x", `{rm,-rf,x}`, `rm -{r,f} x`, `rm -r{f,v} x`,
	`r${Z}m -rf x`, `r${Z:-m} -rf x`, `$(printf rm) -rf x`, "`echo rm` -rf x", `$(echo rm -rf x)`, `X='rm -rf x'; $X`, `X=rm; $X -rf x`, `X=rm; ${X} -rf x`, `X=-rf; rm $X x`, `O=-r; O=$O''f; rm $O x`, `A=(rm -rf x); "${A[@]}"`, `A=(-rf x); rm "${A[@]}"`,
	`set -- rm -rf x; "$@"`, `set -- rm -rf x; $*`, `set -- -rf x; rm "$@"`, `X=mr; ${X:1}${X:0:1} -rf x`, `X=MR; X=${X,,}; ${X:1}${X:0:1} -rf x`, `A=rm; B=A; ${!B} -rf x`, `declare -n B=A; A=rm; $B -rf x`, `IFS=,; X=rm,-rf,x; $X`,
	`/bin/r? -rf x`, `/bin/[r]m -rf x`, `/???/rm -rf x`, `~/../bin/../../bin/rm -rf x`, `/usr/../bin/rm -rf x`, `PATH=/bin rm -rf x`, `PATH=/bin:/usr/bin; rm -rf x`, `rm -vrf x`, `rm -rvf -- x`, `rm --recursive -f x`, `rm x -r --force`, `rm --rec x --fo`, `rm -r -- x/../x -f; rm -r x -f`,
	// A command in another.
	`command rm -rf x`, `command -p rm -rf x`, `exec rm -rf x`, `builtin command rm -rf x`, `env rm -rf x`, `env -i /bin/rm -rf x`, `env - /bin/rm -rf x`, `env -u A B=1 rm -rf x`, `env -C . rm -rf x`, `nice rm -rf x`, `nice -n 5 rm -rf x`, `nohup rm -rf x`, `setsid rm -rf x; sleep 0.3`,
	`timeout 5s rm -rf x`, `timeout --foreground -k 1 5 rm -rf x`, `stdbuf -oL rm -rf x`, `time rm -rf x`, `time -p rm -rf x`, `! rm -rf x`, `rm -rf x & wait`, `coproc rm -rf x; wait`, `(((1)) ; rm -rf x)`, `{ rm -rf x; }`, `chroot / rm -rf "$PWD/x"`, `setarch -R rm -rf x`, `flock l rm -rf x`, `flock l -c 'rm -rf x'`,
	`/lib64/ld-linux-x86-64.so.2 /bin/rm -rf x`, `ionice -c 3 rm -rf x`, `taskset 1 rm -rf x`, `prlimit rm -rf x`, `unshare rm -rf x`, `nsenter rm -rf x`, `setpriv rm -rf x`, `xargs rm -rf <<< x`, `echo x | xargs rm -rf`, `echo x | xargs -n 1 -I {} rm -rf {}`, `echo -rf x | xargs rm`,
	`echo rm -rf x | xargs env`, `echo 'rm -rf x' | xargs -I{} sh -c '{}'`, `echo x | xargs -I% sh -c 'rm -rf %'`, `find . -name x -exec rm -rf {} +`, `find x -maxdepth 0 -execdir rm -rf {} \;`, `find x -maxdepth 0 -exec sh -c 'rm -rf "$1"' _ {} \;`, `find x -maxdepth 0 -exec env rm -rf {} \;`,
	`find . -name x -print0 | xargs -0 rm -rf`, `find . -name x | while read -r f; do rm -rf "$f"; done`, `while read -r c; do $c; done <<< 'rm -rf x'`, `echo 'rm -rf x' | while read -r c; do eval "$c"; done`, `read -r c <<< 'rm -rf x'; $c`, `mapfile -t A <<< 'rm -rf x'; ${A[0]}`,
	`sh -c 'rm -rf x'`, `sh -xc 'rm -rf x'`, `bash -lc 'rm -rf x'`, `bash --norc -c 'rm -rf x'`, `bash -c 'bash -c "bash -c \"rm -rf x\""'`, `bash -c '"$@"' _ rm -rf x`, `bash -c '$0 $1 $2' rm -rf x`, `bash -c 'rm "$@"' _ -rf x`, `sh -c 'exec "$0" "$@"' rm -rf x`, `bash <<'E'` + "\nrm -rf x\nE", "sh <<-E\n\trm -rf x\nE", "bash -s <<E\nrm -rf x\nE",
	"cat <<E | bash\nrm -rf x\nE", `bash <<< "rm -rf x"`, `bash <(echo rm -rf x)`, `. <(echo rm -rf x)`, `source /dev/stdin <<< 'rm -rf x'`, `echo 'rm -rf x' > /tmp/stet-s; sh /tmp/stet-s`, "cat > s.sh <<E\nrm -rf x\nE\nbash s.sh", `echo 'rm -rf x' | tee s.sh; . ./s.sh`, "printf 'rm -rf x' > s.sh && chmod +x s.sh && ./s.sh",
	`eval rm -rf x`, `eval 'rm -rf' x`, `eval "r""m -rf x"`, `eval $(echo rm -rf x)`, `eval eval rm -rf x`, `trap 'rm -rf x' EXIT`, `trap "rm -rf x" 0`, `(trap 'rm -rf x' USR1; kill -USR1 $BASHPID)`, `shopt -s expand_aliases` + "\nalias z='rm -rf'\nz x", "shopt -s expand_aliases\nalias z=rm\nz -rf x", "shopt -s expand_aliases\nalias z=rm y='z -rf'\ny x",
	`f() { rm -rf "$1"; }; f x`, `function f { rm -rf x; }; f`, `f() { "$@"; }; f rm -rf x`, `f() ( rm -rf x ); f`, `f() { rm "$@"; }; f -rf x`, `hash -p /bin/rm ls; ls -rf x`, `enable -n echo; echo() { rm -rf x; }; echo a`, `PROMPT_COMMAND='rm -rf x' bash -i </dev/null`, `PS4='$(rm -rf x)'; set -x; :`, `BASH_ENV=<(echo rm -rf x) bash -c :`,
	// Where a shell looks for commands.
	`echo $(rm -rf x)`, "echo `rm -rf x`", `echo "$(echo "$(rm -rf x)")"`, `: ${Y:=$(rm -rf x)}`, `: "${Y:-$(rm -rf x)}"`, `Y=a; : "${Y/$(rm -rf x)/}"`, `Y=(a); : ${Y[$(rm -rf x)0]}`, `A[$(rm -rf x)0]=1`, `echo $(( $(rm -rf x)1 ))`, `(( A[$(rm -rf x)0]++ ))`, `let 'A[$(rm -rf x)0]=1'`, `Y='A[$(rm -rf x)0]'; echo $((Y))`,
	`[[ -v 'A[$(rm -rf x)0]' ]]`, `[[ 'A[$(rm -rf x)0]' -eq 0 ]]`, `printf -v 'A[$(rm -rf x)0]' a`, `read -r 'A[$(rm -rf x)0]' <<< a`, `declare 'A[$(rm -rf x)0]=a'`, `test -v 'A[$(rm -rf x)0]'`, `A=1; unset 'A[$(rm -rf x)0]'`, `Y='$(rm -rf x)'; : "${Y@P}"`, `cat < <(rm -rf x)`, `cat <<E` + "\n$(rm -rf x)\nE", `> $(rm -rf x; echo l)`, `A=($(rm -rf x))`,
	`case $(rm -rf x) in *) ;; esac`, `case a in $(rm -rf x)) ;; esac`, `for i in $(rm -rf x); do :; done`, `for ((i=$(rm -rf x)0; i<0; i++)); do :; done`, `[[ -n $(rm -rf x) ]]`, `[ -n "$(rm -rf x)" ]`, `if rm -rf x; then :; fi`, `while rm -rf x; do break; done`, `until rm -rf x; do :; done`, `true && rm -rf x || true`, `diff <(rm -rf x) /dev/null`, `export A=$(rm -rf x)`, `local A=$(rm -rf x); A=$(rm -rf x)`,
	// Other languages.
	`python3 -c 'import shutil; shutil.rmtree("x")'`, `python3 -c "import os; os.system('rm -rf x')"`, `python3 -c 'import subprocess; subprocess.run(["rm", "-rf", "x"])'`, "python3 <<E\nimport shutil\nshutil.rmtree('x')\nE", "python3 - <<'E'\nimport os\nos.popen('rm -rf x').read()\nE", `echo 'import shutil; shutil.rmtree("x")' | python3`, `base64 -d <<< aW1wb3J0IHNodXRpbDsgc2h1dGlsLnJtdHJlZSgieCIp | python3`,
	`python3 -c 'getattr(__import__("shu"+"til"), "rm"+"tree")("x")'`, `python3 -c 'exec(bytes.fromhex("696d706f72742073687574696c3b73687574696c2e726d747265652827782729"))'`, `perl -e 'system "rm -rf x"'`, "perl -e '`rm -rf x`'", `perl -MFile::Path -e 'rmtree "x"'`, `perl -e 'exec "rm", "-rf", "x"'`, `perl -we 'qx(rm -rf x)'`,
	`awk 'BEGIN { system("rm -rf x") }'`, `awk 'BEGIN { "rm -rf x" | getline }'`, `awk 'BEGIN { print "x" | "xargs rm -rf" }'`, `sed -n '1e rm -rf x' one`, `sed 's/.*/rm -rf x/e' one`, `node -e 'require("fs").rmSync("x", {recursive: true})'`, `node -e 'require("child_process").execSync("rm -rf x")'`, "node <<E\nrequire('child_process').execSync('rm -rf x')\nE",
	"make -f - <<'E'\nall:\n\trm -rf x\nE", `make -f /dev/null --eval='$(shell rm -rf x)' -n`, `tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='rm -rf x' one`, `tar cf /dev/null -I 'rm -rf x;' one; rm -rf x`, `vim -es -c '!rm -rf x' -c q; rm -rf x`, `script -qc 'rm -rf x' /dev/null`, `script -c 'rm -rf x'`,
}

var removesElsewhere = []string{
	`git -c core.pager='rm -rf x' -p log`, `GIT_PAGER='rm -rf x' git -p log`, `PAGER='rm -rf x' git -p log`, `export PAGER='rm -rf x'; git -p log`, `env GIT_PAGER='rm -rf x' git -p log`, `git filter-branch -f --tree-filter 'rm -rf '"$PWD"/x HEAD`, `git -c include.path=../more status; git x`, `git bisect start; git bisect run sh -c 'rm -rf x'`, `choom -n 0 rm -rf x`, `echo rm | xargs -I% % -rf x`,
	`sudo rm -rf x`, `sudo -u bob -- rm -rf x`, `sudo sh -c 'rm -rf x'`, `doas rm -rf x`, `pkexec rm -rf x`, `su - bob -c 'rm -rf x'`, `runuser -u bob -- rm -rf x`, `strace -f -o log rm -rf x`, `ltrace rm -rf x`, `gdb -ex '!rm -rf x'`, `gdb --args rm -rf x`, `busybox rm -rf x`, `busybox sh -c 'rm -rf x'`, `toybox rm -rf x`,
	`parallel rm -rf ::: x`, `parallel ::: 'rm -rf x'`, `echo 'rm -rf x' | parallel`, `parallel 'rm -rf {}' ::: x`, `watch -n 1 rm -rf x`, `watch 'rm -rf x'`, `entr rm -rf x`, `ls | entr -s 'rm -rf x'`, `systemd-run --user rm -rf x`, `at now <<< 'rm -rf x'`, `echo 'rm -rf x' | at now`, `firejail rm -rf x`, `bwrap --bind / / rm -rf x`,
	`fakeroot rm -rf x`, `xvfb-run rm -rf x`, `dbus-run-session -- rm -rf x`, `ssh host rm -rf x`, `ssh host 'cd a && rm -rf x'`, `ssh localhost "rm -rf $PWD/x"`, `docker run -v $PWD:/w image rm -rf /w/x`, `docker exec c sh -c 'rm -rf x'`, `podman run i rm -rf x`, `kubectl exec p -- rm -rf x`, `tmux new-session -d 'rm -rf x'`, `tmux send-keys 'rm -rf x' Enter`,
	`screen -dm rm -rf x`, `npx rimraf x; npx -c 'rm -rf x'`, `npm exec -c 'rm -rf x'`, `npm exec -- rm -rf x`, `uv run rm -rf x`, `poetry run rm -rf x`, `nix-shell --run 'rm -rf x'`, `direnv exec . rm -rf x`, `mise exec -- rm -rf x`, `bundle exec rm -rf x`, `pipenv run rm -rf x`, `conda run rm -rf x`, `vagrant ssh -c 'rm -rf x'`, `wsl rm -rf x`,
	`ruby -e 'system("rm -rf x")'`, `ruby -e 'require "fileutils"; FileUtils.rm_rf("x")'`, `php -r 'system("rm -rf x");'`, `deno eval 'Deno.removeSync("x", {recursive: true})'`, `bun -e 'Bun.$(["rm -rf x"])'`, `lua -e 'os.execute("rm -rf x")'`, `osascript -e 'do shell script "rm -rf x"'`, `expect -c 'spawn rm -rf x'`, `sqlite3 db '.shell rm -rf x'`, `sqlite3 db <<< '.shell rm -rf x'`,
	`psql -c '\! rm -rf x'`, `less +'!rm -rf x' a`, `emacs --batch --eval '(shell-command "rm -rf x")'`, `ed <<< '!rm -rf x'`, `crontab - <<< '* * * * * rm -rf x'`, `zsh -c '=rm -rf x'`, `=rm -rf x`, `noglob rm -rf x`, `nocorrect rm -rf x`, `fish -c 'rm -rf x'`, `pwsh -c 'rm -rf x'`, `powershell -Command "rm -rf x"`, `cmd /c "rm -rf x"`,
	`git lfs clone 'ext::sh -c rm% -rf% x'; git mybranches`, `git mine`, `watchexec -- rm -rf x`, `nodemon --exec 'rm -rf x'`, `concurrently 'rm -rf x'`, `foo --then 'rm -rf x'`, `foo -- rm -rf x`,
}

// shows show or change secret/key, or may.
var shows = []string{
	`export TMPDIR=$PWD/secret; cat $(mktemp -d)/../key`, `export GOPATH=$PWD/secret; cat $(go env GOPATH)/key`, `mktemp() { echo secret; }; cat $(mktemp)/key`, `pwd() { echo secret; }; cat $(pwd)/key`, `cat $(npm root -g)/key`,
	`cd secret; cat $PWD/key`, `cd secret; cat "$PWD"/key`, `cd secret && cat ~+/key`, `cd secret; cd ..; cat ~-/key`, `cd secret; cd ..; cat $OLDPWD/key`, `cd secret; cd -; cd -; cat key`, `pushd secret; cat key`, `pushd secret; popd; pushd; cat key`, `pushd secret >/dev/null && rm key`,
	`cd -P secret; cat key`, `cd -- secret; cat key`, `cd ./src/../secret && cat key`, `cd "$(echo secret)"; cat key`, `D=$(echo secret); cd $D; rm key`, `cd $D && cat key`, `CDPATH=.; cd secret; cat key`, `(cd secret; cat key)`, `cd secret || exit; cat < key`, `cd secret; cat $(pwd)/key`, "cat `pwd`/secret/key", `cat $(pwd)/secret/key`,
	`env -C secret cat key`, `env --chdir=secret cat key`, `git -C secret show HEAD:./key`, `git -C secret rm key`, `git --git-dir=.git --work-tree=secret checkout key`, `make -C secret clean`, `tar -C secret -cf - key`, `tar cf - -C secret key`, `sudo -D secret rm key`, `go -C secret build -o key`,
	`cat ./secret/key`, `cat secret//key`, `cat secret/./key`, `cat src/../secret/key`, `cat s*/key`, `cat ?ecret/key`, `cat [s]ecret/key`, `cat sec""ret/key`, `cat sec\ret/key`, `cat 'secret'/key`, `cat $'secret/\x6bey'`, `cat $'\163ecret/key'`, `cat {secret,src}/key`, `cat secret/{k,x}ey`, `cat se{c,x}ret/key`, `cat s{a..z}cret/key`,
	`X=secret; cat $X/key`, `X=key; cat secret/$X`, `X=secret/key; cat "$X"`, `X=cret; cat se$X/key`, `cat $(echo secret/key)`, `cat $(ls -d s*)/key`, `cat "$(find . -name key)"`, `cat ${X:-secret/key}`, `cat ${X:=secret/key}`, `X=xsecret/key; cat ${X#x}`, `X=SECRET/key; cat ${X,,}`, `X=(secret/key); cat "${X[@]}"`, `set -- secret/key; cat "$1"`,
	`for f in secret/*; do cat "$f"; done`, `for f in secret; do cat $f/key; done`, `for f in $(ls secret); do rm secret/$f; done`, `for f in $(find . -type f); do rm "$f"; done`, `ls -d secret/* | while read -r f; do cat "$f"; done`, `while read -r f; do rm "$f"; done < list`, `find secret -type f | xargs cat`, `find . -type f | xargs rm`, `find secret | xargs rm`, `find . | xargs rm`, `find | xargs rm`, `find -L secret -type f | xargs cat`, `find secret | parallel rm`, `find -D tree -O3 secret \( -name k \) | xargs rm`, `find -files0-from list | xargs rm`, `ls | xargs -I{} cat {}/key`,
	`find secret -exec cat {} +`, `find . -name key -exec rm {} \;`, `find . -path '*secret*' -delete`, `grep -rl x . | xargs sed -i s/a/b/`, `find . -type f -exec sh -c 'cat "$1"' _ {} \;`, `echo secret/key | xargs cat`, `xargs cat < list`, `xargs -a list rm`, `parallel cat ::: secret/key`, `cat < secret/key`, `cat 0< secret/key`, `while read -r l; do echo $l; done < secret/key`,
	`: > secret/key`, `echo x >| secret/key`, `echo x >> secret/key`, `echo x &> secret/key`, `echo x > "$F"`, `echo x > $(echo secret/key)`, `X=secret; echo x > $X/key`, `exec 3< secret/key; cat <&3`, `exec 3> secret/key`, `cp secret/key x`, `cp -t x secret/key`, `ln secret/key x`, `mv secret x`, `rm -r s*`, `rm -rf -- secret`, `rm -rf ./*`, `rm -rf $PWD/secret`,
	`sed -i s/a/b/ secret/key`, `sed -i s/a/b/ "$f"`, `sed -n 'w secret/key' a.txt`, `tee secret/key < a.txt`, `tee "$F" < a.txt`, `dd of=secret/key if=a.txt`, `truncate -s 0 secret/key`, `touch secret/key`, `install a.txt secret/key`, `rsync a.txt secret/`, `tar xf a -C secret`, `unzip a -d secret`, `curl -o secret/key x`, `wget -O secret/key x`, `shred secret/key`,
	`python3 -c 'print(open("secret/key").read())'`, `python3 -c 'open("secret/key","w")'`, `python3 -c 'import os; print(open(os.path.join("secret","key")).read())'`, `python3 -c 'print(open("sec"+"ret/key").read())'`, `python3 -c 'd="secret"; print(open(f"{d}/key").read())'`, "python3 - secret/key <<E\nimport sys\nprint(open(sys.argv[1]).read())\nE",
	`perl -pe 1 secret/key`, `perl -e 'open F, "secret/key"; print <F>'`, `node -e 'console.log(require("fs").readFileSync("secret/key", "utf8"))'`, `ruby -e 'puts File.read("secret/key")'`, `awk 1 secret/key`, `jq . secret/key`, `base64 secret/key`, `xxd secret/key`, `git diff --no-index a.txt secret/key`, `git show HEAD:secret/key`, `git checkout HEAD~1 -- secret/key`,
	`bash -c 'cd secret; cat key'`, `bash -c 'cat $1' _ secret/key`, `bash -c "cat $PWD/secret/key"`, `sh <<< 'cat secret/key'`, `eval cat secret/key`, `f() { cat "$1"; }; f secret/key`, `cat alias/key`, `cd alias; cat key`, `cat a.txt secret/key`, `cat -- secret/key`, `head -c 5 secret/key`, `. secret/key`, `source secret/key`, `diff a.txt secret/key`, `cat <(cat secret/key)`,
}

// A rule about files holds in every spelling of their names; what is not known before it runs is asked about. (GRD-1)
func TestSpellingsOfFiles(t *testing.T) {
	r := newRig(t)
	r.write("secret/key", "k\n")
	if err := os.Symlink("secret", filepath.Join(r.dir, "alias")); err != nil {
		t.Skip(err)
	}
	r.passes(shows, rule(t, policy.Deny, "", "secret/**", ""))
}

// passes checks that a rule lets none of the commands pass without a question.
func (r *rig) passes(commands []string, rule policy.Rule) {
	r.t.Helper()
	p := &policy.Policy{Rules: []policy.Rule{rule}}
	for _, command := range commands {
		e := Event{Dir: r.dir, Tool: "Bash", Input: shell(command)}
		a := r.Dialects.Action(e.Tool, string(e.Input))
		d, ruled := r.ruled(p, r.dir, e, &a, r.line(e, &a))
		if !ruled || d.Action == policy.Allow {
			r.t.Errorf("passes: %s", command)
		}
	}
}

// A rule about a command holds in every spelling that a shell or another program understands. What cannot be judged is asked about. (GRD-1)
func TestSpellings(t *testing.T) {
	newRig(t).passes(slices.Concat(removesHere, removesElsewhere), rule(t, policy.Deny, "rm -rf", "", ""))
}

// byOptions run a command by an option or a subcommand of a program that else runs nothing of what it is given.
var byOptions = []string{
	`rg --pre rm a x`, `rg --pre=rm a x`, `rg --hostname-bin rm a`, `ag --pager 'rm -rf x' a`, `sort --compress-program=rm x`, `sort --comp rm x`, `cat a.txt | sort --compress-program 'rm x'`, `git grep -nO'rm x' one`, `git grep --op='rm x' one`,
	`gh alias set --shell z 'rm -rf x' && gh z`, `gh alias set z '!rm x'`, `glab alias set z '!rm x'`, `gh repo clone a/b -- -u 'rm x;'`, `brew ruby -e 'system "rm x"'`,
	`apt-get -o DPkg::Pre-Invoke::='rm -rf x' install y`, `apt -yo DPkg::Pre-Invoke::='rm x' install y`, `apt-get install y --option DPkg::Pre-Invoke::='rm x'`, `dpkg --pre-invoke='rm x' -i y`,
	`npm install --script-shell=rm x`, `npm i --script-shell rm x`, `npm ci --git=rm`, `go install -toolexec='rm -rf x' ./...`, `cargo install --config 'build.rustc="rm"' y`,
}

// An option that names a command is looked at where the other arguments are left alone. (GRD-1)
func TestCommandsInOptions(t *testing.T) {
	r := newRig(t)
	r.passes(byOptions, rule(t, policy.Deny, "rm", "", ""))
	p := &policy.Policy{Rules: []policy.Rule{rule(t, policy.Deny, "rm", "", "")}}
	for _, command := range []string{
		`rg 'rm -rf' src`, `rg --pretty rm src`, `sort --check rm`, `gh pr create --title x --body 'no rm -rf x'`, `gh issue list --search rm`, `git log --grep rm`, `apt-get install -y rm`, `npm install rm`, `pip install -e rm`, `brew install rm`,
	} {
		e := Event{Dir: r.dir, Tool: "Bash", Input: shell(command)}
		a := r.Dialects.Action(e.Tool, string(e.Input))
		if d, ruled := r.ruled(p, r.dir, e, &a, r.line(e, &a)); ruled {
			t.Errorf("%s: %+v", command, d)
		}
	}
}

// The command lines of removesHere do remove the directory.
func TestSpellingsAreTrue(t *testing.T) {
	if os.Getenv("STET_SOAK") == "" {
		t.Skip("runs some hundred commands in the shell: set STET_SOAK=1")
	}
	for _, command := range removesHere {
		dir := t.TempDir()
		c := exec.Command("bash", "-c", "git init -q; mkdir hooks; echo one > one; printf '#!/bin/sh\nrm -rf x\n' > hooks/pre-commit; chmod +x hooks/*; printf '[alias]\nx = !rm -rf x\n' > more; git add .; git commit -qm 1; echo two >> one; git commit -qam 2; mkdir x; echo > x/y")
		c.Dir, c.Env = dir, append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		run := exec.Command("timeout", "10", "bash", "-c", command)
		run.Dir, run.Env = dir, c.Env
		out, _ := run.CombinedOutput()
		if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
			t.Errorf("x is there: %s\n%s", command, strings.TrimSpace(string(out)))
		}
	}
}
