package dialect

import (
	"strings"
	"testing"
)

// TRIM-7: a relative path and the same path inside the root are one file, so the root must be known. The texts are from agents'
// prompts.
func TestRoot(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"# Environment\n  Working directory: /home/me/project\n  Platform: linux", "/home/me/project"},
		{"* Current working directory: /home/me/project\n* Git repository root: /home/me", "/home/me/project"},
		{" - Primary working directory: `/srv/x`", "/srv/x"},
		{"- **Working directory:** /srv/x\n", "/srv/x"},
		{"4. Working Directory: C:\\src\\app\n", `C:\src\app`},
		{"4. Working Directory: c:/src/app\n", `c:/src/app`},
		{"Your current working directory is /srv/x. Use absolute paths.", "/srv/x"},
		{"the current working directory (/home/me/project), so there is", "/home/me/project"},
		{"# Current Working Directory (/home/me/a project) Files\n", "/home/me/a project"},
		{"the current workspace directory '/srv/x' holds", "/srv/x"},
		{"working directory: unknown\nWorking directory: /srv/y", "/srv/y"},
		{"<environment_context>\n  <cwd>/home/me/project</cwd>\n", "/home/me/project"},
		{"<working_directory>\n/srv/x\n</working_directory>", "/srv/x"},
		{"cwd: /srv/x\n", "/srv/x"},
		{`{"cwd":"/srv/x","shell":"bash"}`, "/srv/x"},
		{"I'm currently working in the directory: /home/me/a project\nok", "/home/me/a project"},
		{"I'm currently working in the following directories:\n  - /srv/x\n  - /srv/y\n", "/srv/x"},
		{"- MODIFY: files in /testbed (this is the working directory for all commands)\n", "/testbed"},
		{"Project root: /srv/x", "/srv/x"},
		{"The project root is /srv/x.", "/srv/x"},
		{"Project root: F:\\work\\x\n", `F:\work\x`},
		{"The project base directory is: /srv/x\n", "/srv/x"},
		{"Workspace Path: /srv/x", "/srv/x"},
		{"  Workspace root folder: /\n  Working directory: /srv/x\n", "/srv/x"},
		{"Project root: /srv\nWorking directory: /srv/x\n", "/srv/x"},
		{"<uploaded_files>\n/workspace/x\n</uploaded_files>\nI've uploaded a repository in the directory x", "/workspace/x"},
		{"We've uploaded a python code repository in the directory /testbed. Fix it.", "/testbed"},

		{"当前工作目录: /home/me/项目\n操作系统: linux", "/home/me/项目"},
		{"当前工作目录：/srv/x\n", "/srv/x"},
		{"当前工作目录:/srv/x\n", "/srv/x"},
		{"- **项目根目录**：`/srv/x`\n", "/srv/x"},
		{"* 项目根目录: F:\\work\\x\n", `F:\work\x`},
		{"你的当前工作目录是/srv/x。请使用绝对路径。", "/srv/x"},
		{"工作目录为“/srv/a project”，不要离开它", "/srv/a project"},
		{"<工作目录>/srv/x</工作目录>", "/srv/x"},
		{"<工作目录>\n  /srv/x\n</工作目录>", "/srv/x"},
		{"工作目录（cwd）：/srv/x", "/srv/x"},
		{"項目：無\n工作目錄：「/srv/x」\n", "/srv/x"},
		{"项目根目录: /srv\n工作目录: /srv/x\n", "/srv/x"},
		{"Рабочий каталог: /home/me/проект\nОС: linux", "/home/me/проект"},
		{"• Текущий рабочий каталог: «/srv/x».", "/srv/x"},
		{"Рабочая директория — /srv/x\n", "/srv/x"},
		{"  КОРЕНЬ ПРОЕКТА: '/srv/x'\n", "/srv/x"},
		{"Arbeitsverzeichnis: /srv/x\n", "/srv/x"},
		{"Das aktuelle Arbeitsverzeichnis ist /srv/x. Alle Pfade", "/srv/x"},
		{"- Projekt-Stammverzeichnis: „/srv/x“\n", "/srv/x"},
		{"<arbeitsverzeichnis>C:\\src\\app</arbeitsverzeichnis>", `C:\src\app`},
		{"| Arbeitsverzeichnis | /srv/x |\n", "/srv/x"},
		{"Répertoire de travail : /srv/x\n", "/srv/x"},
		{"作業ディレクトリ: /srv/x\n", "/srv/x"},
		{"<working-directory>/srv/x</working-directory>", "/srv/x"},
		{`{"workingDirectory":"/srv/x"}`, "/srv/x"},
		{"cwd:/srv/x\n", "/srv/x"},
		{"Working directory (cwd): /srv/x\n", "/srv/x"},
		{"- **Workspace Directories:**\n  - /srv/x\n", "/srv/x"},
		{"[Project root path]:\n/testbed\n\n[Problem statement]", "/testbed"},
		{"The current project contains the following root directories:\n- `/srv/x`\n", "/srv/x"},
		{"I am working in a workspace with the following folders:\n- /srv/x \n", "/srv/x"},

		{"Workspace root folder: /", ""},
		{"combine the project root with the path (e.g. project root '/path/to/project/' + relative 'a')", ""},
		{"不要改变工作目录，/tmp 可以", ""},
		{"统一转换为相对路径(相对于项目根目录)/a", ""},
		{"工作目录/src/文件", ""},
		{"нерабочий каталог: /a", ""},
		{"Не меняйте рабочий каталог, /tmp для этого", ""},
		{"emit `::git-stage{cwd=\"/absolute/path\"}`, with cwd=/srv/x or cwd='/srv/x'", ""},
		{"no directory: /a", ""},
		{"Use getcwd: /a", ""},
		{"Defaults to the current working directory. /etc/hosts is a file", ""},
		{"do not change the working directory, /tmp is for that", ""},
		{"the working directory: ./src", ""},
		{"see https://example.org/cwd:/a", ""},
		{"Read the file /a/b of the project root", ""},
		{"Working directory: /" + strings.Repeat("x", 2000), ""},
		{"/", ""},
		{"cwd:", ""},
		{"", ""},
		{">", ""},
	} {
		if got := Root(tt.text); got != tt.want {
			t.Errorf("Root(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}
